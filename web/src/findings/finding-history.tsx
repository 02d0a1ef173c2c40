import type { Finding } from '@heddle/client';
import { EventList } from '../ui/event-list.tsx';
import type { HistoryEvent } from '../ui/event-list.tsx';
import { Section } from '../ui/page.tsx';
import { TRIAGE_LABEL } from './finding-state.tsx';

/** When runs saw the finding, and what users decided, latest first. */
export function FindingHistory({ finding }: { finding: Finding }) {
  return (
    <Section title="History" testId="finding-history">
      <EventList events={eventsOf(finding)} />
    </Section>
  );
}

function eventsOf({ first_seen, last_seen, gone_at, runs, triage }: Finding): HistoryEvent[] {
  const events: HistoryEvent[] = [{ at: first_seen, glyph: 'failed', text: 'First found' }];
  if (runs > 1) {
    events.push({ at: last_seen, glyph: 'partial', text: `Last found, in ${runs.toLocaleString()} runs so far` });
  }
  if (gone_at !== null) events.push({ at: gone_at, glyph: 'succeeded', text: 'Gone: a complete run did not find it' });
  if (triage.at !== null) {
    const text = (
      <>
        {TRIAGE_LABEL[triage.state]}
        {triage.by !== null && ` by ${triage.by}`}
        {triage.comment !== null && <p className="quiet breakable">{triage.comment}</p>}
      </>
    );
    events.push({ at: triage.at, glyph: triage.state === 'open' ? 'pending' : 'skipped', text });
  }
  return events;
}
