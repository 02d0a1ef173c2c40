import type { Model } from '@heddle/client';
import type { ModelState } from '../api/models.ts';
import { StateGlyph } from '../ui/glyphs.tsx';
import type { State } from '../ui/state.ts';

export const STATE_LABEL: Readonly<Record<ModelState, string>> = {
  new: 'New',
  changed: 'Changed',
  known: 'Known',
  gone: 'Gone',
};

const STATE_MEANING: Readonly<Record<ModelState, string>> = {
  new: 'First seen by the latest run, or seen again after it was gone',
  changed: 'Differs from the previous run',
  known: 'Unchanged since earlier runs',
  gone: 'No longer found by a complete run',
};

export const STATE_GLYPH: Readonly<Record<ModelState, State>> = {
  new: 'creating',
  changed: 'partial',
  known: 'succeeded',
  gone: 'canceled',
};

/** The state of a model; of a changed one, with what changed. */
export function ModelBadge({ state, changes }: Pick<Model, 'state' | 'changes'>) {
  const fields = changes.map(({ field }) => field).join(', ');
  return (
    <span className="state-badge" title={STATE_MEANING[state]}>
      <StateGlyph state={STATE_GLYPH[state]} />
      {STATE_LABEL[state]}
      {state === 'changed' && fields !== '' && <span className="quiet">{fields}</span>}
    </span>
  );
}
