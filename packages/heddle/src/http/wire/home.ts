import { Type, type Static } from 'typebox';

import { redactText } from '@heddle/base/redact';
import type {
  Attention,
  FailedTask,
  FailedTasks,
  FailingGroup,
  Home,
  WaitingGroup,
} from '@heddle/core/engine/overview/port';
import { isoTime, isoTimeOrNull, nullable, oneOf, Timestamp, Uuid } from './basics.ts';

const Many = (description: string) => Type.Integer({ minimum: 0, description });
const Capped = (what: string) => Type.Boolean({ description: `Whether there are more ${what} than the number says.` });

export const CappedCountDto = Type.Object(
  { n: Many('Number, up to 10,000.'), n_capped: Type.Boolean({ description: 'Whether there are more.' }) },
  { additionalProperties: false, title: 'CappedCount' },
);
export type CappedCountDto = Static<typeof CappedCountDto>;

const Sample = { task_id: Uuid('One of the tasks.'), name: Type.String({ description: 'Its name.' }) };

export const MinuteDto = Type.Object(
  {
    minute: Timestamp('Its beginning'),
    started: Many('Tasks that started.'),
    succeeded: Many('Tasks that succeeded.'),
    failed: Many('Tasks that failed, timed out or failed partially, those that failed by dependency included.'),
    canceled: Many('Tasks that were canceled.'),
    wait_p50_ms: nullable(Type.Number({ description: 'Half of the started tasks were ready no longer than this.' })),
    wait_p95_ms: nullable(Type.Number({ description: '95 % of the started tasks were ready no longer than this.' })),
  },
  { additionalProperties: false, title: 'Minute' },
);
export type MinuteDto = Static<typeof MinuteDto>;

export const FailingGroupDto = Type.Object(
  {
    fingerprint: Type.String({ description: 'The same for tasks of a kind that failed alike: 16 hexadecimal digits.' }),
    kind: Type.String(),
    reason: Type.String({ description: 'Reason of the latest one.' }),
    pattern: Type.String({ description: 'Reason without its variable parts.' }),
    tasks: Many('Failed tasks.'),
    tasks_capped: Capped('tasks'),
    runs: Many('Batches and workflows that they belong to.'),
    first_at: Timestamp('When the first one of the last 24 hours failed'),
    last_at: Timestamp('When the latest one failed'),
    sample: Type.Object(
      {
        ...Sample,
        run_id: Uuid('Its batch or workflow.'),
        run_name: nullable(Type.String({ description: 'Name of that.' })),
      },
      { additionalProperties: false, description: 'The latest one.' },
    ),
  },
  { additionalProperties: false, title: 'FailingGroup' },
);
export type FailingGroupDto = Static<typeof FailingGroupDto>;

export const WaitingGroupDto = Type.Object(
  {
    type: oneOf(['no_worker', 'queued', 'rule', 'runner', 'paused', 'delayed'], {
      description: '`queued`: the workers are busy; the others as in explanations of tasks.',
    }),
    text: Type.String({ description: 'Why they wait.' }),
    tasks: Many('Tasks.'),
    tasks_capped: Capped('tasks'),
    since: nullable(Timestamp('When the first one began to wait')),
    kind: nullable(Type.String()),
    slot_id: nullable(Type.String({ description: 'The slot that they wait for.' })),
    sample: nullable(Type.Object(Sample, { additionalProperties: false, description: 'The first one.' })),
  },
  { additionalProperties: false, title: 'WaitingGroup' },
);
export type WaitingGroupDto = Static<typeof WaitingGroupDto>;

export const AttentionDto = Type.Object(
  {
    type: oneOf([
      'no_worker',
      'dead_letters',
      'lost_worker',
      'full_rule',
      'job_failed',
      'job_missed',
      'webhook_dead',
      'webhook_failing',
      'runner_launch_failed',
      'executor_unreachable',
    ]),
    severity: oneOf(['error', 'warning']),
    title: Type.String({ description: 'What is wrong.' }),
    remedy: Type.String({ description: 'What to do.' }),
    since: nullable(Timestamp('When it began')),
    count: Many('How many it concerns.'),
    count_capped: Capped('of them'),
    kind: Type.Optional(Type.String()),
    queue: Type.Optional(Type.String()),
    worker: Type.Optional(Type.String({ description: 'Name of the worker.' })),
    slot_id: Type.Optional(Type.String()),
    job_id: Type.Optional(Uuid('The job.')),
    run_id: Type.Optional(Uuid('The batch or workflow.')),
    task_id: Type.Optional(Uuid('One of the tasks, or the task that holds a slot.')),
    origin: Type.Optional(Type.String({ description: 'Scheme, host and port of a webhook target, or `smtp:`.' })),
    executor: Type.Optional(Type.String()),
    resource_class: Type.Optional(Type.String()),
  },
  { additionalProperties: false, title: 'Attention' },
);
export type AttentionDto = Static<typeof AttentionDto>;

export const HomeDto = Type.Object(
  {
    at: Timestamp('When it was computed, by the clock of the database'),
    now: Type.Object(
      {
        running: CappedCountDto,
        ready: CappedCountDto,
        waiting: CappedCountDto,
        delayed: CappedCountDto,
        paused: CappedCountDto,
        failed_last_day: CappedCountDto,
      },
      { additionalProperties: false, description: '`waiting`: for dependencies, their turn, or a rule.' },
    ),
    open_runs: CappedCountDto,
    last_hour: Type.Array(MinuteDto, { description: 'The last 60 minutes, oldest first.' }),
    failing: Type.Array(FailingGroupDto, {
      description: 'The failures of the last 24 hours, the latest 10,000, by kind and reason: the 20 largest groups.',
    }),
    waiting: Type.Array(WaitingGroupDto, { description: 'Why tasks do not run: the 50 largest groups.' }),
    attention: Type.Array(AttentionDto, { description: 'What needs an operator, errors first: at most 100.' }),
  },
  { additionalProperties: false, title: 'Home' },
);
export type HomeDto = Static<typeof HomeDto>;

export const FailedTaskDto = Type.Object(
  {
    task_id: Uuid('The task.'),
    name: Type.String(),
    kind: Type.String(),
    reason: Type.String({ description: 'Why it failed.' }),
    run_id: Uuid('Its batch or workflow.'),
    run_name: nullable(Type.String()),
    ended_at: Timestamp('When it failed'),
  },
  { additionalProperties: false, title: 'FailedTask' },
);
export type FailedTaskDto = Static<typeof FailedTaskDto>;

export const FailedTasksDto = Type.Object(
  {
    tasks: Type.Array(FailedTaskDto),
    next: nullable(Type.String({ description: '`after` of the next page; null on the last one.' })),
  },
  { additionalProperties: false, title: 'FailedTasks' },
);
export type FailedTasksDto = Static<typeof FailedTasksDto>;

export function homeToWire(home: Home, secretsToo: boolean): HomeDto {
  const shown = secretsToo ? (text: string): string => text : redactText;
  return {
    ...home,
    at: isoTime(home.at),
    last_hour: home.last_hour.map((minute) => ({ ...minute, minute: isoTime(minute.minute) })),
    failing: home.failing.map((group) => failingToWire(group, shown)),
    waiting: home.waiting.map((group) => waitingToWire(group, shown)),
    attention: home.attention.map((item) => attentionToWire(item, shown)),
  };
}

type Shown = (text: string) => string;

function failingToWire(group: FailingGroup, shown: Shown): FailingGroupDto {
  return {
    ...group,
    reason: shown(group.reason),
    pattern: shown(group.pattern),
    first_at: isoTime(group.first_at),
    last_at: isoTime(group.last_at),
  };
}

function waitingToWire(group: WaitingGroup, shown: Shown): WaitingGroupDto {
  return { ...group, text: shown(group.text), since: isoTimeOrNull(group.since) };
}

function attentionToWire(item: Attention, shown: Shown): AttentionDto {
  return { ...item, title: shown(item.title), remedy: shown(item.remedy), since: isoTimeOrNull(item.since) };
}

export function failuresToWire({ tasks, next }: FailedTasks, secretsToo: boolean): FailedTasksDto {
  const taskToWire = (task: FailedTask): FailedTaskDto => ({
    ...task,
    reason: secretsToo ? task.reason : redactText(task.reason),
    ended_at: isoTime(task.ended_at),
  });
  return { tasks: tasks.map(taskToWire), next };
}
