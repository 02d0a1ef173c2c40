import type { JsonObject } from '@heddle/base/json';
import type { Matcher, Rule } from '@heddle/base/vocabulary/task';
import { isObject, shown } from '@heddle/base/parse/faults';
import { isStorable } from '@heddle/base/parse/json-value';
import { Members } from '@heddle/base/parse/members';
import { placeOf, type Place } from '@heddle/base/parse/path';

const RULES_MAX = 16;
const FIELDS_MAX = 32;
const FIELD_CHARS_MAX = 255;
const KIND_CHARS_MAX = 100;
const LIMIT_MAX = 1_000_000_000;
const TYPES = ['Concurrency', 'Concurency', 'Capacity'] as const;
const CONCURRENCY_MEMBERS = ['type', 'matcher', 'max_concurrency', 'max_concurency'] as const;
const CAPACITY_MEMBERS = ['type', 'matcher', 'max_capacity'] as const;
const MATCHER_MEMBERS = ['kind', 'status', 'fields'] as const;

/** Reads the member `rules` of a task: its concurrency rules. */
export function readRules(task: Members): Rule[] {
  const value = task.raw('rules');
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > RULES_MAX) {
    const what = Array.isArray(value) ? `an array of ${value.length}` : shown(value);
    task.fault('rules', `must be an array of at most ${RULES_MAX} rules, not ${what}`);
    return [];
  }
  return value.flatMap((one: unknown, index) => ruleOf(one, placeOf(task.at('rules'), index), task));
}

function ruleOf(value: unknown, place: Place, { faults }: Members): Rule[] {
  if (!isObject(value)) {
    faults.add(place, `must be an object, not ${shown(value)}`);
    return [];
  }
  const rule = new Members(value, place, faults);
  rule.requireAll('type', 'matcher');
  const type = rule.oneOf('type', TYPES);
  if (type === null) return [];
  const matcher = matcherOf(rule);
  if (type === 'Capacity') {
    rule.refuseOthers(CAPACITY_MEMBERS);
    rule.requireAll('max_capacity');
    return [{ type: 'capacity', matcher, max: rule.integer('max_capacity', 1, LIMIT_MAX) ?? 1 }];
  }
  rule.refuseOthers(CONCURRENCY_MEMBERS);
  const name = rule.has('max_concurency') ? 'max_concurency' : 'max_concurrency';
  if (rule.has('max_concurency') && rule.has('max_concurrency')) {
    rule.fault('max_concurrency', 'is given in both spellings; keep one of max_concurrency, max_concurency');
  }
  rule.requireAll(name);
  return [{ type: 'concurrency', matcher, max: rule.integer(name, 1, LIMIT_MAX) ?? 1 }];
}

function matcherOf(rule: Members): Matcher {
  const value = rule.raw('matcher');
  if (!isObject(value)) {
    if (rule.has('matcher')) rule.fault('matcher', `must be an object, not ${shown(value)}`);
    return { kind: '', fields: [] };
  }
  const matcher = new Members(value, rule.at('matcher'), rule.faults);
  matcher.refuseOthers(MATCHER_MEMBERS);
  matcher.requireAll('kind', 'fields');
  matcher.oneOf('status', ['Running']);
  const fields = matcher.raw('fields');
  const areNames = Array.isArray(fields) && fields.length <= FIELDS_MAX && fields.every(isFieldName);
  if (!areNames && matcher.has('fields')) {
    const limits = `at most ${FIELDS_MAX} names of 1 to ${FIELD_CHARS_MAX} characters`;
    matcher.fault('fields', `must be an array of ${limits}, not ${shown(fields)}`);
  }
  return { kind: matcher.text('kind', KIND_CHARS_MAX) ?? '', fields: areNames ? (fields as string[]) : [] };
}

function isFieldName(field: unknown): boolean {
  return typeof field === 'string' && field !== '' && field.length <= FIELD_CHARS_MAX && isStorable(field);
}

export function encodeRule({ type, matcher, max }: Rule): JsonObject {
  const encoded = { kind: matcher.kind, status: 'Running', fields: [...matcher.fields] };
  return type === 'capacity'
    ? { type: 'Capacity', matcher: encoded, max_capacity: max }
    : { type: 'Concurrency', matcher: encoded, max_concurrency: max };
}
