/** What tokens can allow. `task:execute:*` and `task:execute:NAME` are scopes of submissions. */
export const SCOPES = ['task:poll', 'task:cancel', 'events:list', 'status:read'] as const;

/** What a call needs: one of the scopes, or `task:execute:` with the name of the event. */
export type ScopeNeed = (typeof SCOPES)[number] | `task:execute:${string}`;

const EXECUTE = 'task:execute:';

/**
 * Whether the scopes of a caller suffice. Compared exactly; `task:execute:*` is the only pattern there is.
 *
 * @param scopes null where no token is configured: nothing is limited by scopes then
 */
export function allows(scopes: readonly string[] | null, need: ScopeNeed): boolean {
  if (scopes === null || scopes.includes(need)) return true;
  return need.startsWith(EXECUTE) && scopes.includes(`${EXECUTE}*`);
}
