import { useCallback, useState } from 'react';
import { useLocation } from 'wouter';
import type { Submitted } from '../api/operations.ts';
import { useFilters } from '../data/filters.ts';
import { refreshAll } from '../data/query-client.ts';
import { useCan } from '../data/session.ts';
import { Empty } from '../ui/empty.tsx';
import { Page } from '../ui/page.tsx';
import { Segments } from '../ui/segments.tsx';
import { notify } from '../ui/toast.tsx';
import { CopyOfRun } from './copy-of-run.tsx';
import { DocumentForm } from './document-form.tsx';
import type { Document } from './document-form.tsx';
import { EXAMPLES } from './examples.ts';
import { TaskForm } from './task-form.tsx';

const WAYS = { task: 'One task', batch: 'Batch', workflow: 'Workflow' } as const;
type Way = keyof typeof WAYS;

/** Starts a run: one task by a form, or a batch or a workflow as a document. */
export function SubmitPage() {
  const can = useCan();
  const [{ as, from }, change] = useFilters(['as', 'from']);
  const [documents, setDocuments] = useState<Readonly<Record<'batch' | 'workflow', Document>>>(EXAMPLES);
  const way: Way = as === 'batch' || as === 'workflow' ? as : 'task';
  const [, navigate] = useLocation();
  const open = useCallback(
    (type: 'batch' | 'workflow', document: Document) => {
      setDocuments((before) => ({ ...before, [type]: document }));
      change({ as: type, from: '' });
    },
    [change],
  );
  const onSubmitted = ({ id, warnings }: Submitted): void => {
    if (id === null) throw new Error('The list has no tasks: there is nothing to submit');
    notify('Submitted', warnings.map(({ message }) => message).join('; ') || undefined);
    void refreshAll();
    navigate(`/runs/${id}`);
  };
  if (!can('submit')) {
    return (
      <Page title="Submit" crumbs={[{ label: 'Runs', href: '/runs' }]}>
        <Empty title="You may not submit runs">It requires the scope submit, which operators and admins have.</Empty>
      </Page>
    );
  }
  return (
    <Page
      title="Submit"
      crumbs={[{ label: 'Runs', href: '/runs' }]}
      actions={
        <>
          <CopyOfRun from={from} onLoaded={open} />
          <Segments
            label="What to submit"
            options={WAYS}
            chosen={way}
            onChoose={(next) => change({ as: next === 'task' ? '' : next })}
          />
        </>
      }
    >
      {way === 'task' ? (
        <TaskForm onSubmitted={onSubmitted} onDocument={(document) => open('batch', document)} />
      ) : (
        <DocumentForm
          key={way}
          type={way}
          document={documents[way]}
          onChange={(document) => setDocuments((before) => ({ ...before, [way]: document }))}
          onSubmitted={onSubmitted}
        />
      )}
    </Page>
  );
}
