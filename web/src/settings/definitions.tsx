import { useState } from 'react';
import { deleteDefinition, listDefinitions, storeDefinition } from '../api/settings.ts';
import type { DefinitionType, StoredDefinition } from '../api/settings.ts';
import { useSchemas } from '../data/kinds.ts';
import { useLive } from '../data/live.ts';
import { formatJson, parseInput } from '../data/parse-input.ts';
import { useCan } from '../data/session.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmButton, FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/form.tsx';
import { JsonEditor } from '../ui/json-editor.tsx';
import { LiveTable } from '../ui/live-table.tsx';
import { Section } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { done } from './done.ts';

const EVERY_MS = 5000;

const WORDS = {
  rule: { title: 'Stored rules', label: 'rule', meaning: 'Limits that tasks name in their rules' },
  action: { title: 'Stored actions', label: 'action', meaning: 'Webhooks that tasks name in their actions' },
} as const;

const EXAMPLE: Readonly<Record<DefinitionType, object>> = {
  rule: {
    type: 'Concurrency',
    matcher: { kind: 'ingest', status: 'Running', fields: ['tenant_id'] },
    max_concurrency: 1,
  },
  action: { kind: 'Webhook', params: { url: 'https://example.com/hook', verb: 'Post' } },
};

/** Rules or actions that are stored once, and named by tasks. */
export function Definitions({ type }: { type: DefinitionType }) {
  const can = useCan();
  const { title, label, meaning } = WORDS[type];
  const answer = useLive(['definitions', type], (signal) => listDefinitions(type, signal), { every: EVERY_MS });
  const [edited, setEdited] = useState<StoredDefinition | 'new' | null>(null);
  const columns: readonly Column<StoredDefinition>[] = [
    { header: 'Name', cell: ({ name }) => <code>{name}</code> },
    { header: 'Definition', grow: true, cell: ({ body }) => <code>{JSON.stringify(body)}</code> },
    { header: 'Stored', cell: ({ updated_at }) => <Ago at={updated_at} /> },
    ...(can('operate')
      ? [
          {
            header: 'Change',
            cell: (definition: StoredDefinition) => (
              <span className="cell-buttons">
                <Button aria-label={`Edit ${definition.name}`} onClick={() => setEdited(definition)}>
                  Edit
                </Button>
                <ConfirmButton
                  label="Delete"
                  verb={`Delete ${label}`}
                  look="danger"
                  title={`Delete ${definition.name}?`}
                  onConfirm={() => done(deleteDefinition(type, definition.name), `${definition.name} deleted`)}
                >
                  Tasks that were submitted with it keep it; further ones that name it are refused.
                </ConfirmButton>
              </span>
            ),
          },
        ]
      : []),
  ];
  return (
    <Section title={title} beside={can('operate') && <Button onClick={() => setEdited('new')}>Create {label}…</Button>}>
      <LiveTable
        label={title}
        answer={answer}
        columns={columns}
        rowId={({ name }) => name}
        empty={
          <p className="quiet">
            {meaning} by <code>{'{"ref": "NAME"}'}</code>. None is stored.
          </p>
        }
      />
      {edited !== null && (
        <DefinitionDialog type={type} existing={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />
      )}
    </Section>
  );
}

interface DefinitionDialogProps {
  type: DefinitionType;
  existing: StoredDefinition | null;
  onClose: () => void;
}

function DefinitionDialog({ type, existing, onClose }: DefinitionDialogProps) {
  const { label } = WORDS[type];
  const [name, setName] = useState(existing?.name ?? '');
  const [text, setText] = useState(() => formatJson(existing?.body ?? EXAMPLE[type]));
  const schema = useSchemas()?.[type] ?? null;
  const store = async (): Promise<void> => {
    const body = parseInput(text, `The ${label}`);
    if (text.includes('[redacted]')) throw new Error('Write the secrets where it says [redacted]: they are not shown');
    await done(storeDefinition(type, name, body), `${name} stored`);
  };
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={existing === null ? `Store ${type === 'rule' ? 'a rule' : 'an action'}` : `Edit ${existing.name}`}
      verb={`Store ${label}`}
      size="wide"
      disabled={name === ''}
      onConfirm={store}
    >
      {(error) => (
        <div className="form-part">
          {existing === null && (
            <TextField
              label="Name"
              hint="1 to 100 of the characters A-Z a-z 0-9 . _ -"
              value={name}
              onChange={setName}
            />
          )}
          <JsonEditor
            label={type === 'rule' ? 'Rule' : 'Action'}
            text={text}
            onChange={setText}
            schema={schema}
            error={error}
          />
        </div>
      )}
    </FormDialog>
  );
}
