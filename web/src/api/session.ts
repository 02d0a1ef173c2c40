import { useSyncExternalStore } from 'react';
import type { LoginState, User } from '@heddle/client';

const PATH = '/v1/session';

export interface SessionState {
  /** Set while the server requires a login; `refused` after a login that failed. */
  locked: 'no' | 'needed' | 'refused';
  /** Why the last login failed; null: it did not. */
  refusal: string | null;
  /** Who is logged in; null: no one, or not known yet. */
  user: User | null;
  /** How one can log in; null: not known yet. */
  logins: LoginState['logins'] | null;
  /** Whether there is a session to log out of. */
  hasToken: boolean;
  /** Counts logins: a page keyed by it is reset after each. */
  epoch: number;
}

let state: SessionState = { locked: 'no', refusal: null, user: null, logins: null, hasToken: false, epoch: 0 };
const listeners = new Set<() => void>();

function update(change: Partial<SessionState>): void {
  state = { ...state, ...change };
  for (const listener of listeners) listener();
}

/** The cookie of the session is sent by the browser; scripts cannot read it. */
function send(method: string, body?: object): Promise<Response> {
  return fetch(PATH, {
    method,
    cache: 'no-store',
    credentials: 'same-origin',
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
}

function accept({ authentication, user, logins }: LoginState, isLogin: boolean): void {
  const isLocked = authentication === 'required' && user === null;
  const kept = state.locked === 'refused' ? 'refused' : 'needed';
  const epoch = isLogin ? state.epoch + 1 : state.epoch;
  const hasToken = user?.session_id !== undefined && user.session_id !== null;
  update({ locked: isLocked ? kept : 'no', user, logins, hasToken, epoch });
}

/** Asks the server who is logged in. Without an answer nothing changes: other requests show what is wrong. */
async function refreshSession(): Promise<void> {
  const { epoch, locked } = state;
  try {
    const response = await send('GET');
    if (!response.ok) return;
    const found = (await response.json()) as LoginState;
    if (epoch === state.epoch) accept(found, locked !== 'no' && found.user !== null);
  } catch {
    // The server is unreachable.
  }
}

/** Logs in with a token; a failure is in the state. */
export async function login(token: string): Promise<void> {
  try {
    const response = await send('POST', { token });
    const answer = (await response.json()) as LoginState & { error?: string };
    if (response.ok) accept(answer, true);
    else update({ locked: 'refused', refusal: answer.error ?? `The server responded with ${response.status}` });
  } catch {
    update({ locked: 'refused', refusal: 'The server is unreachable' });
  }
}

/** Ends the session. If the server cannot be reached, the user stays logged in. */
export function logout(): void {
  const leave = ({ ok }: Response): void => {
    if (ok) update({ locked: 'needed', refusal: null, user: null, hasToken: false, epoch: state.epoch + 1 });
  };
  send('DELETE').then(leave, () => undefined);
}

export function sessionEpoch(): number {
  return state.epoch;
}

/** Called when the server returned 401 to a request that began in `epoch`; ignored after a login in the meantime. */
export function requireLogin(epoch: number): void {
  if (epoch !== state.epoch || state.locked !== 'no') return;
  update({ locked: 'needed', refusal: null, user: null, hasToken: false });
  void refreshSession();
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

void refreshSession();
// Perhaps the user has logged in on another tab.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible' && state.locked !== 'no') void refreshSession();
});
