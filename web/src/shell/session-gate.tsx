import type { ReactNode } from 'react';
import { useSession } from '../api/session.ts';
import { SessionContext } from '../data/session.ts';
import { Login } from '../login.tsx';

/** Shows the login while the server requires one. */
export function SessionGate({ children }: { children: ReactNode }) {
  const session = useSession();
  if (session.locked !== 'no') return <Login refused={session.locked === 'refused'} />;
  return (
    <SessionContext key={session.epoch} value={null}>
      {children}
    </SessionContext>
  );
}
