/** Scope required by a call; `task:execute:` with the event's name allows its submission. */
export type ScopeNeed = 'task:poll' | 'task:cancel' | 'events:list' | 'status:read' | `task:execute:${string}`;

const EXECUTE = 'task:execute:';

/**
 * Returns whether the caller's scopes suffice. Matched exactly, except for the only pattern `task:execute:*`.
 *
 * @param scopes null if no tokens are configured, in which case scopes limit nothing
 */
export function allows(scopes: readonly string[] | null, need: ScopeNeed): boolean {
  if (scopes === null || scopes.includes(need)) return true;
  return need.startsWith(EXECUTE) && scopes.includes(`${EXECUTE}*`);
}
