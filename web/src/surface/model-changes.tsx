import type { Model } from '@heddle/client';
import type { ReactNode } from 'react';
import type { HistoryEvent } from '../ui/event-list.tsx';
import { valueText } from './model-data.ts';
import { STATE_GLYPH } from './model-state.tsx';

/**
 * When a model appeared, last changed, and was last missed; the server keeps the latest change of each.
 * @param subject names it, if it is shown among others
 */
export function changesOf(model: Model, subject: ReactNode = null): HistoryEvent[] {
  const { state, first_seen, gone_at, changed_at, changes, changed_run, first_run } = model;
  const about = (words: string): ReactNode => (
    <>
      {subject} {subject === null ? capital(words) : words}
    </>
  );
  const events: HistoryEvent[] = [{ at: first_seen, glyph: STATE_GLYPH.new, text: about('first seen') }];
  if (gone_at !== null) events.push({ at: gone_at, glyph: STATE_GLYPH.gone, text: about('gone') });
  if (changes.length > 0) {
    const text = (
      <>
        {about('changed')}
        <ul className="changes">
          {changes.map((change) => (
            <li key={change.field}>
              <span className="change-field">{change.field.replaceAll('_', ' ')}</span>{' '}
              <del>{valueText(change.old)}</del> <span aria-label="became">→</span> <ins>{valueText(change.new)}</ins>
            </li>
          ))}
        </ul>
      </>
    );
    events.push({ at: changed_at, glyph: STATE_GLYPH.changed, text });
  } else if (state === 'new' && changed_run !== first_run) {
    events.push({ at: changed_at, glyph: STATE_GLYPH.new, text: about('seen again after it was gone') });
  }
  return events;
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
