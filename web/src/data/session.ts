import type { User } from '@heddle/client';
import { useSession } from '../api/session.ts';

export type Scope = User['scopes'][number];

const INCLUDED: Readonly<Partial<Record<Scope, readonly Scope[]>>> = {
  operate: ['read', 'work'],
  admin: ['read', 'submit', 'work', 'operate', 'command', 'runner'],
};

/** Whether the user may do what requires this scope; where no login exists, everyone may do everything. */
export function useCan(): (scope: Scope) => boolean {
  const { user } = useSession();
  return (scope) =>
    user === null || user.scopes.some((held) => held === scope || (INCLUDED[held]?.includes(scope) ?? false));
}
