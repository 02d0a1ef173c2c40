import type { Session } from '@heddle/client';
import { endSession, places } from '../api/places.ts';
import { useLive } from '../data/live.ts';
import { ConfirmButton } from '../ui/dialog.tsx';
import { LiveTable } from '../ui/live-table.tsx';
import { Section } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { done } from './done.ts';

const EVERY_MS = 5000;

const SESSIONS: readonly Column<Session>[] = [
  { header: 'User', cell: ({ user, current }) => `${user}${current ? ' (this browser)' : ''}` },
  { header: 'Role', cell: ({ role }) => role ?? '–' },
  { header: 'Browser', grow: true, cell: ({ browser }) => browser ?? '–' },
  { header: 'Address', cell: ({ address }) => address ?? '–' },
  { header: 'Last used', cell: ({ last_used_at }) => <Ago at={last_used_at} /> },
  { header: 'Ends', cell: ({ expires_at }) => <Ago at={expires_at} /> },
  {
    header: 'End',
    cell: ({ id, user }) => (
      <ConfirmButton
        label="End"
        verb="End session"
        title={`End this session of ${user}?`}
        onConfirm={() => done(endSession(id), 'Session ended')}
      >
        The browser has to log in again.
      </ConfirmButton>
    ),
  },
];

/** Browsers that are logged in. */
export function Sessions() {
  const answer = useLive(['sessions'], places.sessions, { every: EVERY_MS });
  return (
    <Section title="Sessions">
      <LiveTable
        label="Sessions"
        answer={answer}
        columns={SESSIONS}
        rowId={({ id }) => id}
        empty={<p className="quiet">No browser is logged in.</p>}
      />
    </Section>
  );
}
