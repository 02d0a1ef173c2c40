import { Fragment } from 'react';
import type { ReactNode } from 'react';
import { useSession } from '../api/session.ts';
import { Login } from '../login.tsx';

/** Shows the login while the server requires one. Each login starts with fresh views. */
export function SessionGate({ children }: { children: ReactNode }) {
  const { locked, epoch } = useSession();
  if (locked !== 'no') return <Login refused={locked === 'refused'} />;
  return <Fragment key={epoch}>{children}</Fragment>;
}
