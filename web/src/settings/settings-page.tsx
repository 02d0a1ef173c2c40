import { useCan } from '../data/session.ts';
import { Page } from '../ui/page.tsx';
import { Definitions } from './definitions.tsx';
import { Secrets } from './secrets.tsx';
import { Sessions } from './sessions.tsx';
import { Tokens } from './tokens.tsx';

/** Who may use the system, what it keeps secret, and what tasks name instead of repeating it. */
export function SettingsPage() {
  const isAdmin = useCan()('admin');
  return (
    <Page title="Settings">
      <Sessions />
      {isAdmin && <Tokens />}
      {isAdmin && <Secrets />}
      <Definitions type="rule" />
      <Definitions type="action" />
    </Page>
  );
}
