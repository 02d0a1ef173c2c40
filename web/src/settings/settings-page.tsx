import type { Secret, Session, Token } from '@heddle/client';
import { endSession, places, revokeToken } from '../api/places.ts';
import { useLive } from '../data/live.ts';
import { refreshAll } from '../data/query-client.ts';
import { useCan } from '../data/session.ts';
import { ConfirmButton } from '../ui/dialog.tsx';
import { Empty } from '../ui/empty.tsx';
import { LiveTable } from '../ui/live-table.tsx';
import { Page, Section } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { notify } from '../ui/toast.tsx';

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

const TOKENS: readonly Column<Token>[] = [
  { header: 'Name', grow: true, cell: ({ name }) => name },
  { header: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
  { header: 'State', cell: ({ state }) => state },
  { header: 'Last used', cell: ({ last_used_at }) => <Ago at={last_used_at} absent="never" /> },
  { header: 'Expires', cell: ({ expires_at }) => <Ago at={expires_at} absent="never" /> },
  {
    header: 'Revoke',
    cell: ({ id, name, state }) =>
      state === 'live' && (
        <ConfirmButton
          label="Revoke"
          verb="Revoke token"
          look="danger"
          title={`Revoke ${name}?`}
          onConfirm={() => done(revokeToken(id), 'Token revoked')}
        >
          Programs and browsers that use it are refused within seconds.
        </ConfirmButton>
      ),
  },
];

const SECRETS: readonly Column<Secret>[] = [
  { header: 'Name', grow: true, cell: ({ name }) => name },
  { header: 'Granted to', cell: ({ grants }) => grants.join(', ') || 'no one' },
  { header: 'Readable', cell: ({ readable }) => (readable ? 'yes' : 'no: its key is missing') },
  { header: 'Set', cell: ({ updated_at }) => <Ago at={updated_at} /> },
];

async function done(change: Promise<void>, title: string): Promise<void> {
  await change;
  notify(title);
  await refreshAll();
}

/** Who may use the system, and what it keeps secret. */
export function SettingsPage() {
  const isAdmin = useCan()('admin');
  return (
    <Page title="Settings">
      <Sessions />
      {isAdmin && <Tokens />}
      {isAdmin && <Secrets />}
    </Page>
  );
}

function Sessions() {
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

function Tokens() {
  const answer = useLive(['tokens'], places.tokens, { every: EVERY_MS });
  return (
    <Section title="Tokens">
      <LiveTable
        label="Tokens"
        answer={answer}
        columns={TOKENS}
        rowId={({ id }) => id}
        empty={<Empty title="No tokens" command="heddle token create --name NAME --scope read" />}
      />
    </Section>
  );
}

function Secrets() {
  const answer = useLive(['secrets'], places.secrets, { every: EVERY_MS });
  return (
    <Section title="Secrets">
      <LiveTable
        label="Secrets"
        answer={answer}
        columns={SECRETS}
        rowId={({ name }) => name}
        empty={<Empty title="No secrets" command="heddle secret set NAME --grant KIND" />}
      />
    </Section>
  );
}
