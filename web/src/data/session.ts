import { createContext, use } from 'react';

export type Scope = 'read' | 'submit' | 'work' | 'operate' | 'command' | 'runner' | 'admin';

export interface SessionInfo {
  authentication: 'none' | 'required';
  user: null | {
    name: string;
    role: 'viewer' | 'operator' | 'admin';
    scopes: readonly Scope[];
    session_id: string | null;
    expires_at: string | null;
  };
  logins: { token: boolean; oidc: null | { label: string; path: string } };
}

const INCLUDED: Readonly<Partial<Record<Scope, readonly Scope[]>>> = {
  operate: ['read', 'work'],
  admin: ['read', 'submit', 'work', 'operate', 'command', 'runner'],
};

export const SessionContext = createContext<SessionInfo | null>(null);

export function useSessionInfo(): SessionInfo | null {
  return use(SessionContext);
}

/** Whether the user may do what requires this scope; without a login everyone may do everything. */
export function useCan(): (scope: Scope) => boolean {
  const session = useSessionInfo();
  return (scope) => {
    if (session === null || session.authentication === 'none') return true;
    const scopes = session.user?.scopes ?? [];
    return scopes.some((held) => held === scope || (INCLUDED[held]?.includes(scope) ?? false));
  };
}
