import type { JsonObject, JsonValue } from '@heddle/base/json';
import { NOTIFICATION_KINDS } from '../../domain/notification/kinds.ts';
import type { Channel, Notification } from '../../domain/notification/notification.ts';
import type { Place } from '@heddle/base/parse/path';
import { compileNotification, TASK_VARIABLES, type CompiledNotification } from './render.ts';

/** Members of a notification whose strings are templates. */
const TEMPLATES: readonly (readonly string[])[] = [['title'], ['text'], ['payload'], ['to', 'email', 'subject']];

/** Their parents: computing one of these would treat strings of others as templates. */
const ABOVE: readonly (readonly string[])[] = [[], ['to'], ['to', 'email']];

type Path = readonly (string | number)[];

/**
 * Returns whether a place of a task's input is evaluated when the notification is rendered, not before: a computed
 * value inside a template would be parsed as a template, and scan output may hold any string.
 *
 * @param path of an expression, its own member last
 */
export function isWithinTemplates(kind: string, path: Path): boolean {
  return NOTIFICATION_KINDS.has(kind) && TEMPLATES.some((place) => place.every((step, index) => path[index] === step));
}

/** Returns whether an expression replaces a part of a notification that holds templates. */
export function standsAboveTemplates(kind: string, path: Path): boolean {
  const above = path.slice(0, -1);
  return NOTIFICATION_KINDS.has(kind) && ABOVE.some((place) => isSame(place, above));
}

function isSame(one: Path, other: Path): boolean {
  return one.length === other.length && one.every((step, index) => step === other[index]);
}

/**
 * Returns the templates in the input of a notification task; null for any other kind. The rest of its input is read
 * when the task runs, since addresses may be computed until then.
 *
 * @param place path of the input in faults
 */
export function compileTaskTemplates(
  kind: string,
  { title, text, to, payload }: JsonObject,
  place: Place,
): { ok: true; notification: CompiledNotification } | { ok: false; faults: string[] } | null {
  const facts = NOTIFICATION_KINDS.get(kind);
  if (facts === undefined) return null;
  const channel: Channel = { type: 'email', to: [], subject: textOf(memberOf(memberOf(to, 'email'), 'subject')) };
  const notification: Notification = { channel, title: textOf(title), text: textOf(text), payload };
  return compileNotification(notification, [...TASK_VARIABLES, ...facts], place);
}

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value[name] : undefined;
}
