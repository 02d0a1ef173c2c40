import type { Model, ModelState } from '../api/models.ts';

export const STATE_LABEL: Record<ModelState, string> = { new: 'New', changed: 'Changed', known: 'Known', gone: 'Gone' };

const STATE_MEANING: Record<ModelState, string> = {
  new: 'The latest run that saw it saw it first, or again after it was gone',
  changed: 'The latest run that saw it saw it otherwise than the one before',
  known: 'Earlier runs saw it just so, too',
  gone: 'A run that looked at everything did not see it any more',
};

/** The colours of tasks, by how much attention a thing wants. */
const STATE_MARK: Record<ModelState, string> = { new: 'running', changed: 'paused', known: 'waiting', gone: 'failure' };

export function ModelStateChip({ state, changes }: Pick<Model, 'state' | 'changes'>) {
  const fields = changes.map(({ field }) => field).join(', ');
  return (
    <span className="status-chip" title={STATE_MEANING[state]}>
      <span className={`mark mark-${STATE_MARK[state]}`} aria-hidden="true" />
      {STATE_LABEL[state]}
      {state === 'changed' && fields !== '' && <span className="quiet changed-fields">{fields}</span>}
    </span>
  );
}
