import { Type, type Static } from 'typebox';

import type { NewTask, Task, TaskDetail } from '@heddle/base/vocabulary/task';
import { settingsToWire } from '@heddle/base/vocabulary/task-fields';
import { BATCH_WIRE_STATE } from '@heddle/base/vocabulary/task-state';
import type { SubmittedTask } from '@heddle/core/engine/port';
import { ActionDto, actionToWire } from './action.ts';
import { Count, isoTime, isoTimeOrNull, Metadata, nullable, Status, Timestamp, Uuid } from './basics.ts';
import { DemandDto, demandToWire } from './requirements.ts';
import { RetryDto, retryToWire } from './retry.ts';
import { DedupeDto, dedupeToWire, RuleDto, ruleToWire } from './rule.ts';
import { shownInput } from './shown-input.ts';
import { shownSettings } from './task-settings.ts';

const basicProperties = {
  id: Uuid('The task.'),
  local_id: nullable(Type.String({ description: 'Its name within the request that created it.' })),
  name: Type.String(),
  kind: Type.String(),
  status: Status,
  ...shownSettings('batch'),
  metadata: Metadata('What was submitted, with later merges.'),
  created_at: Timestamp('When it was submitted'),
  started_at: nullable(Timestamp('When it started')),
  ended_at: nullable(Timestamp('When it ended')),
  last_updated: Timestamp('When it last changed or was active'),
  success: Count('Units that succeeded so far.'),
  failures: Count('Units that failed so far.'),
  failure_reason: nullable(Type.String()),
  batch_id: Uuid('The batch it belongs to.'),
  attempt: Type.Integer({ description: 'The current attempt; 0 before the first start.' }),
  archived: Type.Boolean({ description: 'Whether it is in the archive.' }),
};

/** A task in lists and graphs: without its actions, rules, dedupe strategy and retry policy. */
export const BasicTaskDto = Type.Object(basicProperties, { additionalProperties: false, title: 'BasicTaskDto' });
export type BasicTaskDto = Static<typeof BasicTaskDto>;

export const TaskDto = Type.Object(
  {
    ...basicProperties,
    actions: Type.Array(ActionDto),
    rules: Type.Array(RuleDto),
    dedupe_strategy: Type.Array(DedupeDto),
    retry: nullable(RetryDto),
    requirements: nullable(DemandDto),
  },
  { additionalProperties: false, title: 'TaskDto' },
);
export type TaskDto = Static<typeof TaskDto>;

export const TaskIdDto = Type.Object({ id: Uuid('The task.') }, { additionalProperties: false, title: 'TaskId' });

export function basicTaskToWire(task: Task): BasicTaskDto {
  return {
    id: task.id,
    local_id: task.local_id,
    name: task.name,
    kind: task.kind,
    status: BATCH_WIRE_STATE[task.state],
    ...settingsToWire('batch', task),
    metadata: shownInput(task),
    created_at: isoTime(task.created_at),
    started_at: isoTimeOrNull(task.started_at),
    ended_at: isoTimeOrNull(task.ended_at),
    last_updated: isoTime(task.updated_at),
    success: task.success_count,
    failures: task.failure_count,
    failure_reason: task.failure_reason,
    batch_id: task.workflow_id,
    attempt: task.attempt,
    archived: task.archived,
  };
}

export function taskToWire(task: TaskDetail): TaskDto {
  return {
    ...basicTaskToWire(task),
    actions: task.actions.map(actionToWire),
    rules: task.rules.map(ruleToWire),
    dedupe_strategy: task.dedupe.map(dedupeToWire),
    retry: task.retry === null ? null : retryToWire(task.retry),
    requirements: task.requirements === undefined ? null : demandToWire(task.requirements),
  };
}

/** Returns a task right after its submission, from the request, without reading it back. */
export function createdTaskToWire(task: NewTask, created: SubmittedTask, batchId: string, createdAt: number): TaskDto {
  return taskToWire({
    ...task,
    id: created.id,
    workflow_id: batchId,
    local_id: created.local_id,
    state: created.state,
    attempt: 0,
    success_count: 0,
    failure_count: 0,
    open_gates: 0,
    failure_reason: null,
    created_at: createdAt,
    started_at: null,
    ended_at: null,
    updated_at: createdAt,
    run_at: null,
    deadline_at: null,
    archived: false,
  });
}
