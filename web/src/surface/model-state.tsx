import type { Model } from '@heddle/client';
import type { ModelState } from '../api/models.ts';

export const STATE_LABEL: Record<ModelState, string> = { new: 'New', changed: 'Changed', known: 'Known', gone: 'Gone' };

const STATE_MEANING: Record<ModelState, string> = {
  new: 'First seen by the latest run, or seen again after it was gone',
  changed: 'Differs from the previous run',
  known: 'Unchanged since earlier runs',
  gone: 'No longer found by a complete run',
};

/** Task colours, by how much attention a model needs. */
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
