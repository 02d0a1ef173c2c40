import type { ReactNode } from 'react';
import { parseTime } from '../times.ts';
import { StateGlyph } from './glyphs.tsx';
import type { State } from './state.ts';
import { Ago } from './time.tsx';

export interface HistoryEvent {
  at: string;
  glyph: State;
  text: ReactNode;
}

/** What happened to something, latest first. */
export function EventList({ events }: { events: readonly HistoryEvent[] }) {
  const ordered = events.toSorted((one, other) => (parseTime(other.at) ?? 0) - (parseTime(one.at) ?? 0));
  return (
    <ol className="events">
      {ordered.map(({ at, glyph, text }, i) => (
        <li key={i}>
          <StateGlyph state={glyph} />
          <div className="event-text">{text}</div>
          <span className="quiet">
            <Ago at={at} />
          </span>
        </li>
      ))}
    </ol>
  );
}
