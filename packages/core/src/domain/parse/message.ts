import { BRANCH_NODES_MAX } from '../conditional.ts';
import { COMPLETION_STATES } from '../message.ts';
import type {
  CompleteTaskMessage,
  CompletionState,
  CreateTaskCollectionMessage,
  CreateTaskMessage,
  HeartbeatTaskMessage,
  ManagerMessage,
  StartTaskMessage,
  WorkerSeenMessage,
} from '../message.ts';
import { isUuid } from '@heddle/base/ids';
import { TASK_FIELDS } from '@heddle/base/vocabulary/task-fields';
import { Faults, isObject, shown } from '@heddle/base/parse/faults';
import { readInput, readValue, RESOLVED_INPUT_BYTES_MAX } from '@heddle/base/parse/json-value';
import { Members, readText } from '@heddle/base/parse/members';
import { KIND_CHARS_MAX, LOCAL_ID_CHARS_MAX, NAME_CHARS_MAX } from './node.ts';
import { placeOf } from '@heddle/base/parse/path';
import { readCreatedNode, readWorkflow, TopLevel } from './workflow.ts';

export type ManagerMessageParse =
  /** `message_id` identifies the message across repeated sending; null if its sender gave it none. */
  { ok: true; message: ManagerMessage; message_id: string | null } | { ok: false; reason: string };
export type StartTaskParse = { ok: true; message: StartTaskMessage } | { ok: false; reason: string };

const EXIT_CODE_MAX = 255;
const COUNT_MAX = 2_147_483_647;
const WORKER_KINDS_MAX = 1000;
/** Later versions of the specification may append fields. */
const TRACEPARENT_CHARS_MAX = 512;
/** A worker's reason is cut if too long, never rejected. */
const REASON_CHARS_MAX = 10_000;
/** Maximum number of faults in the reason of a rejection. */
const REASON_FAULTS_MAX = 5;

const READERS = {
  CreateTaskCollection: readCreateTaskCollection,
  CreateTask: readCreateTask,
  CompleteTask: readCompleteTask,
  HeartbeatTask: readHeartbeatTask,
  WorkerSeen: readWorkerSeen,
} as const satisfies Record<ManagerMessage['type'], (message: Members, newId: () => string) => ManagerMessage | null>;

/** Members that every message to the manager may have. */
const TAGS = ['type', 'message_id'] as const;

const MANAGER_MESSAGE_TYPES = Object.keys(READERS) as readonly ManagerMessage['type'][];

/**
 * Parses a message to the manager.
 *
 * @param body JSON, tagged with `type`
 * @returns the message, or a one-line reason why it can never be processed
 */
export function parseManagerMessage(body: string, newId: () => string): ManagerMessageParse {
  let messageId: string | null = null;
  const parsed = parseMessage(body, (message) => {
    message.requireAll('type');
    messageId = message.text('message_id', NAME_CHARS_MAX);
    const type = message.oneOf('type', MANAGER_MESSAGE_TYPES);
    return type === null ? null : READERS[type](message, newId);
  });
  return parsed.ok ? { ...parsed, message_id: messageId } : parsed;
}

/** Parses a message to a worker. */
export function parseStartTask(body: string): StartTaskParse {
  return parseMessage(body, (message) => {
    message.requireAll('type');
    return message.oneOf('type', ['StartTask']) === null ? null : readStartTask(message);
  });
}

function parseMessage<Message>(
  body: string,
  read: (message: Members) => Message | null,
): { ok: true; message: Message } | { ok: false; reason: string } {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    return { ok: false, reason: `the body is not valid JSON: ${(error as SyntaxError).message.toWellFormed()}` };
  }
  if (!isObject(value)) return { ok: false, reason: `the body must be an object with a type, not ${shown(value)}` };
  const faults = new Faults();
  const message = read(new TopLevel(value, faults));
  if (message !== null && faults.list.length === 0) return { ok: true, message };
  const named = faults.list.slice(0, REASON_FAULTS_MAX);
  const more = faults.list.length > named.length ? `; and ${faults.list.length - named.length} more` : '';
  return { ok: false, reason: `${named.join('; ')}${more}` };
}

function readCreateTaskCollection(message: Members, newId: () => string): CreateTaskCollectionMessage | null {
  message.refuseOthers([...TAGS, 'collection', 'job_run_id', 'traceparent']);
  const collection = readWorkflow(message.raw('collection'), message.at('collection'), message.faults, newId);
  const traceparent = readTraceparent(message);
  if (collection === null) return null;
  const job_run_id = message.uuid('job_run_id');
  return { type: 'CreateTaskCollection', collection, job_run_id, ...(traceparent === null ? {} : { traceparent }) };
}

/** Passes malformed values on: the specification says to ignore them, which later steps decide. */
function readTraceparent(message: Members): string | null {
  const value = message.raw('traceparent');
  return typeof value === 'string' && value.length <= TRACEPARENT_CHARS_MAX ? value : null;
}

function readCreateTask(message: Members, newId: () => string): CreateTaskMessage | null {
  message.refuseOthers([...TAGS, 'task', 'generator_id', 'attempt', 'parent_id']);
  message.requireAll('generator_id');
  const task = readCreatedNode(message.raw('task'), message.at('task'), message.faults, newId);
  const parent = message.text('parent_id', LOCAL_ID_CHARS_MAX);
  if (task === null) return null;
  return {
    type: 'CreateTask',
    task,
    generator_id: message.uuid('generator_id') ?? '',
    attempt: message.integer('attempt', 1, COUNT_MAX),
    parent_id: parent !== null && isUuid(parent) ? parent.toLowerCase() : parent,
  };
}

function readCompleteTask(message: Members): CompleteTaskMessage {
  message.refuseOthers([
    ...TAGS,
    'task_id',
    'state',
    'root_container_id',
    'data',
    'expected_task_count',
    'attempt',
    'reason',
    'final',
    'disable',
    'exit_code',
  ]);
  message.requireAll('task_id', 'state');
  const exitCode = message.integer('exit_code', 0, EXIT_CODE_MAX);
  return {
    type: 'CompleteTask',
    task_id: message.uuid('task_id') ?? '',
    state: readCompletionState(message),
    root_container_id: message.uuid('root_container_id'),
    data: message.has('data') ? readValue(message.raw('data'), message.at('data'), message.faults) : null,
    expected_task_count: message.integer('expected_task_count', 0, COUNT_MAX),
    attempt: message.integer('attempt', 1, COUNT_MAX),
    reason: readReason(message),
    final: message.boolean('final') ?? false,
    ...readDisable(message),
    ...(exitCode === null ? {} : { exit_code: exitCode }),
  };
}

/** Reads `PendingTaskCreation` as the success of a generator, which stays in that state until its nodes exist. */
function readCompletionState(message: Members): CompletionState {
  const state = message.oneOf('state', [...COMPLETION_STATES, 'PendingTaskCreation']) ?? 'Failed';
  if (state !== 'PendingTaskCreation') return state;
  const announced = message.raw('expected_task_count');
  if (announced === undefined || announced === null) {
    message.fault('expected_task_count', 'is required if the state is "PendingTaskCreation"');
  }
  return 'Succeeded';
}

function readDisable(message: Members): Pick<CompleteTaskMessage, 'disable'> {
  const value = message.raw('disable');
  if (value === undefined || value === null) return {};
  if (!Array.isArray(value) || value.length > BRANCH_NODES_MAX) {
    message.fault('disable', `must be an array of at most ${BRANCH_NODES_MAX} names or ids of nodes`);
    return {};
  }
  if (message.has('expected_task_count')) {
    message.fault('disable', 'cannot be combined with expected_task_count; generators cannot disable nodes');
  }
  const at = message.at('disable');
  const names = value.map((name: unknown, index) =>
    readText(name, placeOf(at, index), message.faults, LOCAL_ID_CHARS_MAX),
  );
  return { disable: names.filter((name) => name !== null) };
}

function readReason(message: Members): string | null {
  const value = message.raw('reason');
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value.slice(0, REASON_CHARS_MAX).replaceAll('\0', '\ufffd').toWellFormed();
  message.fault('reason', `must be a string, not ${shown(value)}`);
  return null;
}

function readHeartbeatTask(message: Members): HeartbeatTaskMessage {
  message.refuseOthers([...TAGS, 'task_id', 'attempt', 'new_success', 'new_failures']);
  message.requireAll('task_id', 'attempt');
  return {
    type: 'HeartbeatTask',
    task_id: message.uuid('task_id') ?? '',
    attempt: message.integer('attempt', 1, COUNT_MAX) ?? 1,
    new_success: message.integer('new_success', 0, COUNT_MAX) ?? 0,
    new_failures: message.integer('new_failures', 0, COUNT_MAX) ?? 0,
  };
}

function readWorkerSeen(message: Members): WorkerSeenMessage {
  message.refuseOthers([...TAGS, 'worker', 'kinds', 'concurrency']);
  message.requireAll('worker', 'kinds', 'concurrency');
  return {
    type: 'WorkerSeen',
    worker: message.text('worker', NAME_CHARS_MAX) ?? '',
    kinds: readKinds(message),
    concurrency: message.integer('concurrency', 1, 1_000_000) ?? 1,
  };
}

function readKinds(message: Members): string[] {
  const value = message.raw('kinds');
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > WORKER_KINDS_MAX) {
    message.fault('kinds', `must be an array of at most ${WORKER_KINDS_MAX} kinds`);
    return [];
  }
  const at = message.at('kinds');
  const kinds = value.map((kind: unknown, index) => readText(kind, placeOf(at, index), message.faults, KIND_CHARS_MAX));
  return [...new Set(kinds.filter((kind) => kind !== null))];
}

function readStartTask(message: Members): StartTaskMessage | null {
  message.refuseOthers(['type', 'root_container_id', 'task', 'traceparent']);
  message.requireAll('root_container_id');
  const value = message.raw('task');
  if (!isObject(value)) {
    message.fault('task', `must be an object, not ${shown(value)}`);
    return null;
  }
  const task = new Members(value, message.at('task'), message.faults);
  task.refuseOthers([
    'id',
    'kind',
    'name',
    'local_id',
    'input',
    'attempt',
    'timeout_secs',
    'timeout_basis',
    'parent_id',
  ]);
  task.requireAll('id', 'kind', 'attempt');
  const traceparent = readTraceparent(message);
  const kind = task.text('kind', KIND_CHARS_MAX) ?? '';
  const { timeout_secs: timeout, deadline_basis } = TASK_FIELDS;
  const basis = task.oneOf('timeout_basis', deadline_basis.values);
  return {
    type: 'StartTask',
    root_container_id: message.uuid('root_container_id') ?? '',
    task: {
      id: task.uuid('id') ?? '',
      kind,
      name: task.text('name', NAME_CHARS_MAX) ?? kind,
      local_id: task.text('local_id', NAME_CHARS_MAX),
      input: readInput(task.raw('input'), task.at('input'), task.faults, RESOLVED_INPUT_BYTES_MAX),
      attempt: task.integer('attempt', 1, COUNT_MAX) ?? 1,
      timeout_secs: task.integer('timeout_secs', timeout.min, timeout.max) ?? timeout.default,
      ...(basis === null ? {} : { timeout_basis: basis }),
      parent_id: task.uuid('parent_id'),
    },
    ...(traceparent === null ? {} : { traceparent }),
  };
}
