import { Type, type Static } from 'typebox';

import { BRANCH_NODES_MAX } from '@heddle/core/domain/conditional';
import { TASK_FIELDS } from '@heddle/base/vocabulary/task-fields';
import { KIND_CHARS_MAX, LOCAL_ID_CHARS_MAX } from '@heddle/core/domain/parse/node';
import { WORKFLOW_WIRE_STATE } from '@heddle/base/vocabulary/workflow';
import type { ClaimedTask, NodeCreationResult, TransitionOutcome } from '@heddle/core/engine/port';
import { Count, COUNT_MAX, Metadata, nullable, oneOf, Uuid } from './basics.ts';
import { GrantedRunnerDto } from './runner-agent.ts';
import type { NewNodeDto } from './new-workflow.ts';
import { REASON_MAX_CHARS } from './update.ts';
import { TaskResultDto, WorkflowState } from './workflow.ts';

const TIME_PATTERN = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,9})?Z$';

export const CLAIM_KINDS_MAX = 100;
export const CLAIM_TASKS_MAX = 1000;
export const LEASE_DEFAULT_SECS = 60;
export const WAIT_MAX_SECS = 60;
export const CHILDREN_MAX = 1000;

function holderName(description: string) {
  return Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: '^[^\\u0000-\\u001f\\u007f]*$',
    patternMeaning: 'string without control characters',
    description,
  });
}

/** The `holder` of the claim, required in all calls about its tasks. */
export const Holder = Type.Optional(holderName('The `holder` of the claim, if it named one.'));

const WorkerInfoDto = Type.Object(
  {
    version: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'Its version.' })),
    host: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Its machine.' })),
    concurrency: Type.Optional(
      Type.Integer({ minimum: 1, maximum: COUNT_MAX, description: 'Maximum number of concurrent tasks.' }),
    ),
    started_at: Type.Optional(Type.String({ pattern: TIME_PATTERN, patternMeaning: 'an RFC 3339 timestamp in UTC' })),
  },
  { additionalProperties: false, description: 'What `/v1/workers` shows of this worker.' },
);

export const LeaveWorkDto = Type.Object(
  { holder: Type.Optional(holderName('Name of the worker in its claims (default its address).')) },
  { additionalProperties: false, title: 'LeaveWork' },
);
export type LeaveWorkDto = Static<typeof LeaveWorkDto>;

export const ClaimWorkDto = Type.Object(
  {
    kinds: Type.Array(Type.String({ minLength: 1, maxLength: KIND_CHARS_MAX }), {
      minItems: 1,
      maxItems: CLAIM_KINDS_MAX,
      description: 'The kinds of task that this worker runs.',
    }),
    max: Type.Optional(
      Type.Integer({ minimum: 1, maximum: CLAIM_TASKS_MAX, default: 1, description: 'Maximum number of tasks.' }),
    ),
    lease_secs: Type.Optional(
      Type.Integer({
        minimum: 5,
        maximum: 3600,
        default: LEASE_DEFAULT_SECS,
        description:
          'Lease of a task without a heartbeat; when it expires, another worker can claim the task as its next attempt.',
      }),
    ),
    wait_secs: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: WAIT_MAX_SECS,
        default: 0,
        description: 'How long the request waits if no task is ready.',
      }),
    ),
    holder: Type.Optional(
      holderName('Name of the worker (default its address). All calls about the tasks must include it.'),
    ),
    worker: Type.Optional(WorkerInfoDto),
  },
  { additionalProperties: false, title: 'ClaimWorkDto' },
);
export type ClaimWorkDto = Static<typeof ClaimWorkDto>;

export const WorkDto = Type.Object(
  {
    id: Uuid('The task.'),
    kind: Type.String(),
    name: Type.String(),
    local_id: nullable(Type.String({ description: 'Its name.' })),
    input: Metadata('Its input; for a task of a batch, its metadata.'),
    attempt: Type.Integer({ description: 'Required in all calls about the task.' }),
    holder: Type.Optional(
      Type.String({ description: 'The `holder` of the claim, if it named one; required in all calls, too.' }),
    ),
    timeout_secs: Type.Integer({ description: 'Maximum inactivity or maximum run time, seconds.' }),
    timeout_basis: oneOf(TASK_FIELDS.deadline_basis.values, {
      description: '`activity`: the timeout counts from the last heartbeat; `start`: from the claim.',
    }),
    root_container_id: Uuid('The workflow or batch it belongs to.'),
    parent_id: nullable(Uuid('Its container; null for a task of a batch.')),
    traceparent: Type.Optional(
      Type.String({ description: 'W3C trace context for the attempt; absent if there is none.' }),
    ),
    runners: Type.Optional(
      Type.Array(GrantedRunnerDto, { description: 'The runners of its requirements; absent if it has none.' }),
    ),
  },
  { additionalProperties: false, title: 'WorkDto' },
);
export type WorkDto = Static<typeof WorkDto>;

export const ClaimedWorkDto = Type.Object(
  { tasks: Type.Array(WorkDto, { description: 'They are running now; empty if nothing was ready.' }) },
  { additionalProperties: false, title: 'ClaimedWork' },
);
export type ClaimedWorkDto = Static<typeof ClaimedWorkDto>;

export const Attempt = Type.Integer({
  minimum: 1,
  maximum: 2_147_483_647,
  description: 'The claimed attempt; one that has ended is rejected.',
});

export const WorkHeartbeatDto = Type.Object(
  {
    attempt: Attempt,
    holder: Holder,
    new_success: Type.Optional(Count('Units that succeeded since the last heartbeat.')),
    new_failures: Type.Optional(Count('Units that failed since the last heartbeat.')),
  },
  { additionalProperties: false, title: 'WorkHeartbeatDto' },
);
export type WorkHeartbeatDto = Static<typeof WorkHeartbeatDto>;

const ExitCode = Type.Optional(
  Type.Integer({ minimum: 0, maximum: 255, description: 'Exit code of the command that the worker ran.' }),
);

export const CompleteWorkDto = Type.Object(
  {
    attempt: Attempt,
    holder: Holder,
    state: Type.Optional(
      oneOf(['Succeeded', 'PartiallyFailed'], { default: 'Succeeded', description: 'How the task ended.' }),
    ),
    result: Type.Optional(Type.Unknown({ description: 'Result of the task, any JSON.' })),
    expected_task_count: Type.Optional(
      Count('For a generator: number of children that it created. It ends when all of them exist.'),
    ),
    disable: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: LOCAL_ID_CHARS_MAX }), {
        maxItems: BRANCH_NODES_MAX,
        description:
          'For a success in a sequence: later nodes of that sequence, by name or id, to disable. Others are ignored.',
      }),
    ),
    exit_code: ExitCode,
  },
  { additionalProperties: false, title: 'CompleteWorkDto' },
);
export type CompleteWorkDto = Static<typeof CompleteWorkDto>;

export const FailWorkDto = Type.Object(
  {
    attempt: Attempt,
    holder: Holder,
    reason: Type.String({ minLength: 1, maxLength: REASON_MAX_CHARS, description: 'Reason of the failure.' }),
    final: Type.Optional(Type.Boolean({ description: 'Permanent failure: the retry policy does not apply.' })),
    exit_code: ExitCode,
  },
  { additionalProperties: false, title: 'FailWorkDto' },
);
export type FailWorkDto = Static<typeof FailWorkDto>;

export const ReleaseWorkDto = Type.Object(
  { attempt: Attempt, holder: Holder },
  { additionalProperties: false, title: 'ReleaseWorkDto' },
);

export const WorkOutcomeDto = Type.Object(
  {
    id: Uuid('The task.'),
    result: oneOf(['applied', 'retrying', 'unchanged'], {
      description: '`retrying`: the task will be retried. `unchanged`: a repeat of an earlier report.',
    }),
    state: WorkflowState,
  },
  { additionalProperties: false, title: 'WorkOutcome' },
);
export type WorkOutcomeDto = Static<typeof WorkOutcomeDto>;

export const HeartbeatAnswerDto = Type.Object(
  { id: Uuid('The task.'), result: oneOf(['applied']) },
  { additionalProperties: false, title: 'HeartbeatAnswer' },
);

export const CreateChildrenDto = Type.Object(
  {
    attempt: Attempt,
    holder: Holder,
    nodes: Type.Array(
      Type.Unsafe<NewNodeDto>({
        type: 'object',
        additionalProperties: true,
        description:
          'A task, or a container with its children, as in `POST /v1/workflows`; at most 1,000 nodes in each.',
      }),
      {
        minItems: 1,
        maxItems: CHILDREN_MAX,
        description: 'A node whose `id` is a UUID is created once, however often it is sent.',
      },
    ),
    parent_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LOCAL_ID_CHARS_MAX,
        description: 'The container to add them to, by id or local name (default the container of the task).',
      }),
    ),
  },
  { additionalProperties: false, title: 'CreateChildrenDto' },
);
export type CreateChildrenDto = Static<typeof CreateChildrenDto>;

export const CreatedChildDto = Type.Object(
  {
    id: Uuid('The node.'),
    local_id: nullable(Type.String()),
    result: oneOf(['created', 'exists', 'rejected'], { description: '`exists`: it was already created.' }),
    reason: Type.Optional(Type.String({ description: 'Why it was rejected; retrying will not help.' })),
  },
  { additionalProperties: false, title: 'CreatedChild' },
);

export const CreatedChildrenDto = Type.Object(
  { nodes: Type.Array(CreatedChildDto, { description: 'In the order of the request.' }) },
  { additionalProperties: false, title: 'CreatedChildren' },
);
export type CreatedChildrenDto = Static<typeof CreatedChildrenDto>;

export const WorkResultsDto = Type.Object(
  {
    results: Type.Array(TaskResultDto, { description: 'By the id of the task.' }),
    next: nullable(Uuid('The `after` of the next page; null on the last one.')),
  },
  { additionalProperties: false, title: 'WorkResults' },
);
export type WorkResultsDto = Static<typeof WorkResultsDto>;

/** @param holder what the claim named */
export function workToWire(task: ClaimedTask, holder: string | undefined): WorkDto {
  return {
    id: task.id,
    kind: task.kind,
    name: task.name,
    local_id: task.local_id,
    input: task.metadata,
    attempt: task.attempt,
    ...(holder === undefined ? {} : { holder }),
    timeout_secs: task.timeout_secs,
    timeout_basis: task.timeout_basis,
    root_container_id: task.workflow_id,
    parent_id: task.container_id,
    ...(task.runners === undefined ? {} : { runners: [...task.runners] }),
    ...(task.traceparent === undefined ? {} : { traceparent: task.traceparent }),
  };
}

/** The outcome of an accepted report; rejections are problems. */
export function workOutcomeToWire(
  { task_id, state }: TransitionOutcome,
  result: WorkOutcomeDto['result'],
): WorkOutcomeDto {
  return { id: task_id, result, state: WORKFLOW_WIRE_STATE[state!] };
}

export function createdChildToWire(
  node: { id: string; local_id: string | null },
  created: Exclude<NodeCreationResult, { result: 'stale_attempt' }>,
): CreatedChildrenDto['nodes'][number] {
  const { id, local_id } = node;
  return created.result === 'rejected'
    ? { id, local_id, result: 'rejected', reason: created.reason }
    : { id, local_id, result: created.result };
}
