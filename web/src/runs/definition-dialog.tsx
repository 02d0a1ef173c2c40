import type { Run, RunDefinition } from '@heddle/client';
import { getDefinition } from '../api/operations.ts';
import { numbered } from '../data/bulk.ts';
import { useLive } from '../data/live.ts';
import { formatJson } from '../data/parse-input.ts';
import { useCan } from '../data/session.ts';
import { Button, LinkButton } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { downloadText } from '../ui/download.ts';
import { Json } from '../ui/json.tsx';
import { ProblemBox } from '../ui/problem.tsx';
import { Loading } from '../ui/loading.tsx';

/** The body with which an equal run can be submitted. */
export function bodyOf(definition: RunDefinition): unknown {
  return definition.type === 'batch' ? definition.tasks : definition.workflow;
}

/** Shows what was submitted as a run, to copy, to save, or to change and submit. */
export function DefinitionDialog({ run, onClose }: { run: Run; onClose: () => void }) {
  const can = useCan();
  const { data, error } = useLive(['definition', run.id], (signal) => getDefinition(run.id, signal), { every: false });
  return (
    <Dialog open onOpenChange={(open) => !open && onClose()} title={`Definition of ${run.title}`} size="wide">
      {error !== null && <ProblemBox error={error} />}
      {data === undefined && error === null && <Loading />}
      {data !== undefined && (
        <>
          <LeftOut definition={data} />
          <div className="definition">
            <Json value={bodyOf(data)} label="Definition" testId="definition" />
          </div>
        </>
      )}
      <div className="dialog-actions">
        {can('submit') && data !== undefined && (
          <LinkButton href={`/submit?from=${run.id}`}>Change and submit</LinkButton>
        )}
        {data !== undefined && (
          <Button onClick={() => downloadText(`${run.title}.json`, formatJson(bodyOf(data)), 'application/json')}>
            Download
          </Button>
        )}
        <Button look="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

/** What a definition cannot hold. */
export function LeftOut({ definition }: { definition: RunDefinition }) {
  const { redacted, left_out, type } = definition;
  const notes = [
    redacted && 'Secrets of its requests are replaced by [redacted]; “Run again” keeps them.',
    left_out.generated_tasks > 0 &&
      `${numbered(left_out.generated_tasks, 'task')} of generators are left out: they are created again.`,
    left_out.dependencies > 0 &&
      `${numbered(left_out.dependencies, 'dependency').replace(/ys$/, 'ies')} on tasks of other batches are left out.`,
  ].filter((note) => note !== false);
  return (
    <p className="quiet">
      The body of <code>{type === 'batch' ? 'POST /task' : 'POST /v1/workflows'}</code>, with the inputs as they are
      now. {notes.join(' ')}
    </p>
  );
}
