import { elementPath, memberPath, quoted } from './path.ts';

/** `faulty`: a fault that only a second, slower pass can name; else the number of members. */
export type Inspection = { faulty: true } | { faulty: false; members: number };

const FAULT = -1;

/**
 * Checks a parsed value for what JSON allows but the database or JavaScript cannot store: numbers beyond the safe
 * range, NUL and lone surrogates, members named `__proto__`. The value's depth must be bounded already.
 *
 * @param textsToo false if the source held no escape that could produce such a character
 */
export function inspectValue(value: unknown, textsToo: boolean): Inspection {
  const members = textsToo ? countChecked(value) : count(value);
  return members === FAULT ? { faulty: true } : { faulty: false, members };
}

function count(value: unknown): number {
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? 0 : FAULT;
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const element of value as unknown[]) {
      if (typeof element === 'string') continue;
      const inner = count(element);
      if (inner === FAULT) return FAULT;
      members += inner;
    }
    return members;
  }
  const object = value as Record<string, unknown>;
  for (const key in object) {
    if (key === '__proto__') return FAULT;
    members += 1;
    const member = object[key];
    if (typeof member === 'string') continue;
    const inner = count(member);
    if (inner === FAULT) return FAULT;
    members += inner;
  }
  return members;
}

function countChecked(value: unknown): number {
  if (typeof value === 'string') return isStorable(value) ? 0 : FAULT;
  if (typeof value === 'number') return count(value);
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const element of value as unknown[]) {
      const inner = countChecked(element);
      if (inner === FAULT) return FAULT;
      members += inner;
    }
    return members;
  }
  const object = value as Record<string, unknown>;
  for (const key in object) {
    if (key === '__proto__' || !isStorable(key)) return FAULT;
    const inner = countChecked(object[key]);
    if (inner === FAULT) return FAULT;
    members += inner + 1;
  }
  return members;
}

/** Returns whether PostgreSQL can store the string: no NUL, no lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

const SAFE_RANGE = 'must lie within ±9007199254740991, or it would lose digits; send it as a string';

/** Names what `inspectValue` rejected, at most `limit` faults. */
export function describeFaults(value: unknown, path: string, limit: number): string[] {
  const faults: string[] = [];
  const visit = (inner: unknown, at: string): void => {
    if (faults.length >= limit) return;
    if (typeof inner === 'string') describeText(inner, at);
    else if (typeof inner === 'number') {
      if (!(Math.abs(inner) <= Number.MAX_SAFE_INTEGER)) faults.push(`${at || 'body'}: ${SAFE_RANGE}`);
    } else if (Array.isArray(inner)) inner.forEach((element, index) => visit(element, elementPath(at, index)));
    else if (typeof inner === 'object' && inner !== null) {
      for (const [key, member] of Object.entries(inner)) {
        const memberAt = memberPath(at, key);
        if (key === '__proto__') faults.push(`${memberAt}: is a name that is not allowed; rename this member`);
        else describeText(key, memberAt);
        visit(member, memberAt);
      }
    }
  };
  const describeText = (text: string, at: string): void => {
    if (text.includes('\0'))
      faults.push(`${at || 'body'}: holds a NUL character (\\u0000), which cannot be stored; remove it`);
    else if (!text.isWellFormed()) {
      faults.push(`${at || 'body'}: holds half of a surrogate pair (${quoted(text, 20)}); send whole characters`);
    }
  };
  visit(value, path);
  return faults.slice(0, limit);
}
