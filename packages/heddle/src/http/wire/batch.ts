import { Type, type Static } from 'typebox';

import type { Dag, DagChanges } from '@heddle/core/engine/port';
import type { Dependency, WorkflowSummary } from '@heddle/base/vocabulary/task';
import { Count, isoTime, isoTimeOrNull, nullable, Timestamp, Uuid } from './basics.ts';
import { BasicTaskDto, basicTaskToWire } from './task.ts';

const batchProperties = {
  id: Uuid('The batch.'),
  name: nullable(Type.String()),
  task_count: Count('All its tasks.'),
  remaining: Count('Unfinished tasks.'),
  created_at: Timestamp('When it was submitted'),
  ended_at: nullable(Timestamp('When its last task ended')),
  archived: Type.Boolean(),
};

export const BatchDto = Type.Object(batchProperties, { additionalProperties: false, title: 'BatchDto' });
export type BatchDto = Static<typeof BatchDto>;

export const BatchDetailDto = Type.Object(
  {
    ...batchProperties,
    by_status: Type.Record(Type.String(), Type.Integer(), {
      description: 'Tasks by status; statuses without tasks are omitted.',
    }),
  },
  { additionalProperties: false, title: 'BatchDetailDto' },
);
export type BatchDetailDto = Static<typeof BatchDetailDto>;

export const LinkDto = Type.Object(
  {
    parent_id: Uuid('The task that the other one waits for.'),
    child_id: Uuid('The task that waits.'),
    requires_success: Type.Boolean(),
  },
  { additionalProperties: false, title: 'LinkDto' },
);
export type LinkDto = Static<typeof LinkDto>;

export const DagDto = Type.Object(
  { batch: BatchDto, tasks: Type.Array(BasicTaskDto), links: Type.Array(LinkDto) },
  { additionalProperties: false, title: 'DagDto' },
);
export type DagDto = Static<typeof DagDto>;

export const BatchChangeDto = Type.Object(
  { batch: BatchDto, tasks: Type.Array(BasicTaskDto) },
  { additionalProperties: false, title: 'BatchChange', description: 'Data of the events `change` and `end`.' },
);
export type BatchChangeDto = Static<typeof BatchChangeDto>;

export const CanceledDto = Type.Object(
  { canceled: Count('Tasks that this call canceled.') },
  { additionalProperties: false, title: 'Canceled' },
);

export function batchToWire(workflow: WorkflowSummary): BatchDto {
  return {
    id: workflow.id,
    name: workflow.name,
    task_count: workflow.task_count,
    remaining: workflow.remaining,
    created_at: isoTime(workflow.created_at),
    ended_at: isoTimeOrNull(workflow.ended_at),
    archived: workflow.archived,
  };
}

function linkToWire(link: Dependency): Static<typeof LinkDto> {
  return { parent_id: link.parent_id, child_id: link.child_id, requires_success: link.requires_success };
}

export function dagToWire(dag: Dag): DagDto {
  return {
    batch: batchToWire(dag.workflow),
    tasks: dag.tasks.map(basicTaskToWire),
    links: dag.dependencies.map(linkToWire),
  };
}

export function changesToWire(changes: DagChanges): BatchChangeDto {
  return { batch: batchToWire(changes.workflow), tasks: changes.tasks.map(basicTaskToWire) };
}
