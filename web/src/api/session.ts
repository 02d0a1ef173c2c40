import { useSyncExternalStore } from 'react';

/** The token lives as long as the tab: in sessionStorage, never in a cookie that other sites could use. */
const STORAGE_KEY = 'heddle.token';

export interface SessionState {
  /** Set while the server requires a token; says whether one was given and rejected. */
  locked: 'no' | 'needed' | 'refused';
  hasToken: boolean;
  /** Counts logins: a page keyed by it is reset after each. */
  epoch: number;
}

let state: SessionState = { locked: 'no', hasToken: readToken() !== null, epoch: 0 };
const listeners = new Set<() => void>();

function update(next: SessionState): void {
  state = next;
  for (const listener of listeners) listener();
}

export function readToken(): string | null {
  return sessionStorage.getItem(STORAGE_KEY);
}

export function login(token: string): void {
  sessionStorage.setItem(STORAGE_KEY, token);
  update({ locked: 'no', hasToken: true, epoch: state.epoch + 1 });
}

export function logout(): void {
  sessionStorage.removeItem(STORAGE_KEY);
  update({ locked: 'no', hasToken: false, epoch: state.epoch + 1 });
}

/** Called when the server returned 401 to a request with `token`; ignored if the token was replaced meanwhile. */
export function requireLogin(token: string | null): void {
  if (token !== readToken()) return;
  if (token !== null) sessionStorage.removeItem(STORAGE_KEY);
  const locked = token !== null || state.locked === 'refused' ? 'refused' : 'needed';
  update({ locked, hasToken: false, epoch: state.epoch });
}

export function useSession(): SessionState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}
