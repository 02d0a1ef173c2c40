import { HeddleError } from '@heddle/base/errors';
import { Faults, isObject, shown } from '@heddle/base/parse/faults';
import { Members } from '@heddle/base/parse/members';
import { CPU_MAX, MEMORY_MIB_MAX } from '@heddle/base/vocabulary/requirements';
import { USAGE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import type { RunnerMessage } from '../../domain/runner/runner.ts';
import { parseStrictJson } from '@heddle/base/json/parse';

/** Members of the message about an idle runner, named as in other runner pools. */
const MEMBERS = ['id', 'resourceClass', 'instanceType', 'cpu', 'mmem', 'usageClass', 'threshold'] as const;

const ENVELOPE_MEMBERS = ['instance_id', 'payload'] as const;
const INSTANCE_ID = /^i-[0-9a-f]{8,17}$/;

/** Far more than any valid message needs. */
const BODY_CHARS_MAX = 4_096;
const CLASS_CHARS_MAX = 64;
const TYPE_CHARS_MAX = 64;
const TIME_CHARS_MAX = 40;
const DEPTH_MAX = 4;
/** Latest time with a four-digit year. */
const TIME_MAX = Date.UTC(9999, 11, 31);

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

export type ReadMessage = { readonly message: RunnerMessage } | { readonly fault: string };

export function writeRunnerMessage(message: RunnerMessage): string {
  const { id, resource_class, instance_type, cpu, memory_mib, usage_class, threshold, enveloped } = message;
  const payload = {
    id,
    resourceClass: resource_class,
    instanceType: instance_type,
    cpu,
    mmem: memory_mib,
    usageClass: usage_class,
    threshold: new Date(Math.min(threshold, TIME_MAX)).toISOString(),
  };
  return JSON.stringify(enveloped === true ? { instance_id: id, payload } : payload);
}

/** Parses an untrusted message; returns faults as one line instead of throwing. */
export function readRunnerMessage(body: string): ReadMessage {
  if (body.length > BODY_CHARS_MAX) {
    return { fault: `message: must have at most ${BODY_CHARS_MAX} characters, not ${body.length}` };
  }
  try {
    return readDocument(parseStrictJson(Buffer.from(body), '', DEPTH_MAX));
  } catch (error) {
    if (error instanceof HeddleError) return { fault: error.details.join('; ') };
    throw error;
  }
}

function readDocument(document: unknown): ReadMessage {
  if (!isObject(document)) return { fault: `message: must be an object, not ${shown(document)}` };
  const faults = new Faults();
  const members = new Members(document, { above: null, step: 'message' }, faults);
  const message = members.has('payload') ? readEnvelope(members) : readMembers(members);
  return faults.list.length === 0 ? { message } : { fault: faults.list.join('; ') };
}

/** Reads `{instance_id, payload}`, the envelope that other runner pools use. */
function readEnvelope(envelope: Members): RunnerMessage {
  envelope.refuseOthers(ENVELOPE_MEMBERS);
  envelope.requireAll(...ENVELOPE_MEMBERS);
  const id = readId(envelope, 'instance_id');
  const payload = envelope.raw('payload');
  if (!isObject(payload)) envelope.fault('payload', `must be an object, not ${shown(payload)}`);
  const content = isObject(payload) ? payload : {};
  const members = new Members({ id, ...content }, envelope.at('payload'), envelope.faults);
  const message = readMembers(members);
  if (message.id !== id) members.fault('id', 'must be the instance_id of the message, or be omitted');
  return { ...message, enveloped: true };
}

function readMembers(members: Members): RunnerMessage {
  members.refuseOthers(MEMBERS);
  members.requireAll(...MEMBERS);
  return {
    id: readId(members, 'id') ?? '',
    resource_class: members.text('resourceClass', CLASS_CHARS_MAX) ?? '',
    instance_type: members.text('instanceType', TYPE_CHARS_MAX) ?? '',
    cpu: members.integer('cpu', 1, CPU_MAX) ?? 0,
    memory_mib: members.integer('mmem', 1, MEMORY_MIB_MAX) ?? 0,
    usage_class: members.oneOf('usageClass', USAGE_CLASSES) ?? 'on-demand',
    threshold: readTime(members, 'threshold') ?? 0,
  };
}

/** Reads the ID of a runner or of its EC2 instance. */
function readId(members: Members, name: string): string | null {
  const value = members.raw(name);
  return typeof value === 'string' && INSTANCE_ID.test(value) ? value : members.uuid(name);
}

/** Milliseconds since the epoch. */
function readTime(members: Members, name: string): number | null {
  const text = members.text(name, TIME_CHARS_MAX);
  if (text === null) return null;
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  members.fault(name, `must be a time such as "2026-01-31T12:00:00.000Z", not ${shown(text)}`);
  return null;
}
