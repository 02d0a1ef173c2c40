import { grants, ROLES, SCOPES_OF_ROLE, type Role, type TokenScope } from '@heddle/core/domain/token';

/** Which users of an identity provider have which role: `groups: admins=admin, sre=operator+command, *=viewer`. */
export interface RoleMapping {
  /** Claim that has the groups: its name, or the path to it, such as `realm_access.roles`. */
  claim: string;
  rules: readonly { value: string; role: Role; scopes: readonly TokenScope[] }[];
}

/** The value of users with any claims. */
const ANYONE = '*';

/** Returns null if the text is no mapping. */
export function parseRoleMapping(text: string): RoleMapping | null {
  const [, claim, list] = /^\s*([^\s,=]+):\s(.+)$/s.exec(text) ?? [];
  if (claim === undefined) return null;
  const rules = list!.split(',').map(parseRule);
  return rules.includes(null) ? null : { claim, rules: rules as RoleMapping['rules'] };
}

/** The last `=` separates: names of groups may contain others. */
function parseRule(text: string): RoleMapping['rules'][number] | null {
  const [, value, name, command] = /^\s*(\S(?:.*\S)?)\s*=\s*([a-z]+)(\+command)?\s*$/.exec(text) ?? [];
  const role = ROLES.find((each) => each === name);
  if (value === undefined || role === undefined) return null;
  return { value, role, scopes: [...SCOPES_OF_ROLE[role], ...(command === undefined ? [] : (['command'] as const))] };
}

/** Returns the scopes of all rules that match, without those that others include; null if none does. */
export function scopesOfClaims(
  { claim, rules }: RoleMapping,
  claims: Readonly<Record<string, unknown>>,
): TokenScope[] | null {
  const values = valuesOf(claimOf(claims, claim));
  const matching = rules.filter(({ value }) => value === ANYONE || values.has(value));
  const scopes = new Set(matching.flatMap((rule) => rule.scopes));
  if (scopes.size === 0) return null;
  return grants([...scopes], 'admin') ? ['admin'] : [...scopes];
}

/** Returns the claim of this name, else the one at this path; undefined if there is none. */
export function claimOf(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let found: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<string, unknown>)[part];
  }
  return found;
}

function valuesOf(claim: unknown): ReadonlySet<string> {
  const items: unknown[] = Array.isArray(claim) ? claim : [claim];
  return new Set(items.filter((item) => ['string', 'number', 'boolean'].includes(typeof item)).map(String));
}
