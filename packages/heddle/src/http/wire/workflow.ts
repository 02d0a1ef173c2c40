import { Type, type Static, type TSchema } from 'typebox';

import {
  COMPLETION_POLICIES,
  CONTAINER_MODES,
  WORKFLOW_WIRE_STATE,
  type ChildCounts,
  type CompletionPolicy,
  type Container,
  type ContainerMode,
  type TaskResult,
  type TreeChanges,
  type TreePage,
  type TreeTask,
  type WorkflowTree,
  type WorkflowWireState,
} from '@heddle/base/vocabulary/workflow';
import { BATCH_WIRE_STATE } from '@heddle/base/vocabulary/task-state';
import type { WorkflowSummary } from '@heddle/base/vocabulary/task';
import { settingsToWire } from '@heddle/base/vocabulary/task-fields';
import { shownSettings } from './task-settings.ts';
import type { WorkflowSubmitResult } from '@heddle/core/engine/port';
import { Count, isoTime, isoTimeOrNull, nullable, oneOf, Status, Timestamp, Uuid } from './basics.ts';
import { SubmissionWarningDto } from './submission-warning.ts';

const WORKFLOW_WIRE_STATES = [...new Set(Object.values(WORKFLOW_WIRE_STATE))];

export const WorkflowState = Type.Unsafe<WorkflowWireState>(
  oneOf(WORKFLOW_WIRE_STATES, { description: 'State of a node.' }),
);
const Policy = Type.Unsafe<CompletionPolicy>(
  oneOf([...COMPLETION_POLICIES], { description: 'Which child outcomes let the sequence continue.' }),
);
const Mode = Type.Unsafe<ContainerMode>(oneOf([...CONTAINER_MODES]));

export const WorkflowDto = Type.Object(
  {
    id: Uuid('The workflow, and its root container.'),
    name: nullable(Type.String()),
    root_container_id: Uuid('Its root container: the id of the workflow.'),
    state: WorkflowState,
    paused: Type.Boolean({ description: 'Nothing of it starts until it is resumed.' }),
    task_count: Count('All its tasks so far; generators add to them.'),
    remaining: Count('Unfinished tasks.'),
    created_at: Timestamp('When it was submitted'),
    ended_at: nullable(Timestamp('When its last task ended')),
    archived: Type.Boolean(),
  },
  { additionalProperties: false, title: 'WorkflowDto' },
);
export type WorkflowDto = Static<typeof WorkflowDto>;

export const SubmittedWorkflowDto = Type.Object(
  {
    id: Uuid('The workflow, and its root container.'),
    name: nullable(Type.String()),
    root_container_id: Uuid('Its root container: the id of the workflow.'),
    task_count: Count('Its tasks.'),
    container_count: Count('Its containers, the root included.'),
    created_at: Timestamp('When it was submitted'),
    replayed: Type.Boolean({ description: 'Already stored; this request changed nothing.' }),
    warnings: Type.Array(SubmissionWarningDto, { description: 'Warnings for the submitter.' }),
  },
  { additionalProperties: false, title: 'SubmittedWorkflow' },
);
export type SubmittedWorkflowDto = Static<typeof SubmittedWorkflowDto>;

export const WorkflowIdDto = Type.Object(
  { id: Uuid('The workflow.') },
  { additionalProperties: false, title: 'WorkflowId' },
);

const CountsDto = Type.Object(
  {
    children: Count('Its children.'),
    open: Count('Unfinished children.'),
    succeeded: Count(''),
    failed: Count('Failed or canceled.'),
    timed_out: Count(''),
    partially_failed: Count(''),
    disabled: Count('Skipped children, which do not count.'),
    tolerated: Count('Tolerated failures: those that the policies of the children allow.'),
  } satisfies Record<keyof ChildCounts, TSchema>,
  { additionalProperties: false, title: 'ChildCounts' },
);

const nodeProperties = {
  id: Uuid('The node.'),
  parent_id: nullable(Uuid('Its container; null for the root.')),
  local_id: nullable(Type.String({ description: 'Its name.' })),
  position: Type.Integer({ description: 'Its position among its siblings.' }),
  policy: Policy,
  state: WorkflowState,
  reason: nullable(Type.String({ description: 'Why it failed or was skipped.' })),
  started_at: nullable(Timestamp('When it started')),
  ended_at: nullable(Timestamp('When it ended')),
};

const containerProperties = {
  type: oneOf(['container']),
  ...nodeProperties,
  mode: Mode,
  counts: CountsDto,
  open_generators: Count('Generators elsewhere in the workflow that may still add children.'),
};

export const ContainerDto = Type.Object(containerProperties, { additionalProperties: false, title: 'ContainerDto' });
export type ContainerDto = Static<typeof ContainerDto>;

export const TreeTaskDto = Type.Object(
  {
    type: oneOf(['task']),
    ...nodeProperties,
    name: Type.String(),
    kind: Type.String(),
    status: Status,
    attempt: Type.Integer({ description: 'The current attempt; 0 before the first start.' }),
    ...shownSettings('tree'),
    success: Count('Units that succeeded so far.'),
    failures: Count('Units that failed so far.'),
    created_at: Timestamp('When it was created'),
    last_updated: Timestamp('When it last changed or was active'),
    generator_id: nullable(Uuid('The generator that created it; null if it was submitted with the workflow.')),
    expansion: nullable(
      Type.Object(
        { expected: nullable(Count('Nodes that it announced; null before.')), created: Count('Existing nodes.') },
        { additionalProperties: false, description: 'For a generator.' },
      ),
    ),
  },
  { additionalProperties: false, title: 'TreeTaskDto' },
);
export type TreeTaskDto = Static<typeof TreeTaskDto>;

/** A node in the tree of its workflow. */
export type TreeNodeDto = TreeTaskDto | TreeContainerDto;

export interface TreeContainerDto extends ContainerDto {
  children: TreeNodeDto[];
  children_omitted: number;
}

export const TreeContainerDto = Type.Object(
  {
    ...containerProperties,
    children: Type.Array(Type.Unsafe<TreeNodeDto>({ $ref: 'WorkflowTreeNode#' }), {
      description: 'By position.',
    }),
    children_omitted: Count(
      'Number of children that this response omits; `GET /v1/workflows/{workflow_id}/containers/{container_id}/children` has them.',
    ),
  },
  { additionalProperties: false, title: 'TreeContainerDto' },
);

/** Named in the API description, because it is recursive. */
export const WorkflowTreeNode = Type.Union([TreeContainerDto, TreeTaskDto], {
  $id: 'WorkflowTreeNode',
  description: 'A container with its children, or a task.',
});

export const WorkflowTreeDto = Type.Object(
  {
    ...WorkflowDto.properties,
    truncated: Type.Boolean({ description: 'Some containers omit children; `children_omitted` is their number.' }),
    root: Type.Unsafe<TreeContainerDto>({ $ref: 'WorkflowTreeNode#' }),
  },
  { additionalProperties: false, title: 'WorkflowTreeDto' },
);
export type WorkflowTreeDto = Static<typeof WorkflowTreeDto>;

export const ChildrenDto = Type.Object(
  {
    container: ContainerDto,
    children: Type.Array(Type.Union([ContainerDto, TreeTaskDto]), { description: 'One page of them, by position.' }),
  },
  { additionalProperties: false, title: 'WorkflowChildren' },
);
export type ChildrenDto = Static<typeof ChildrenDto>;

export const TaskResultDto = Type.Object(
  {
    task_id: Uuid('The task.'),
    local_id: nullable(Type.String()),
    kind: Type.String(),
    state: WorkflowState,
    data: Type.Unknown({ description: 'Its result.' }),
  },
  { additionalProperties: false, title: 'TaskResult' },
);
export type TaskResultDto = Static<typeof TaskResultDto>;

export const WorkflowChangeDto = Type.Object(
  { workflow: WorkflowDto, containers: Type.Array(ContainerDto), tasks: Type.Array(TreeTaskDto) },
  { additionalProperties: false, title: 'WorkflowChange', description: 'Data of the events `change` and `end`.' },
);
export type WorkflowChangeDto = Static<typeof WorkflowChangeDto>;

export function workflowToWire(workflow: WorkflowSummary): WorkflowDto {
  return {
    id: workflow.id,
    name: workflow.name,
    root_container_id: workflow.id,
    state: WORKFLOW_WIRE_STATE[workflow.root_state ?? 'waiting'],
    paused: workflow.paused,
    task_count: workflow.task_count,
    remaining: workflow.remaining,
    created_at: isoTime(workflow.created_at),
    ended_at: isoTimeOrNull(workflow.ended_at),
    archived: workflow.archived,
  };
}

export function submittedWorkflowToWire(
  result: WorkflowSubmitResult,
  name: string | null,
  warnings: SubmissionWarningDto[],
): SubmittedWorkflowDto {
  return {
    id: result.workflow_id,
    name,
    root_container_id: result.workflow_id,
    task_count: result.task_count,
    container_count: result.container_count,
    created_at: isoTime(result.created_at),
    replayed: result.replayed,
    warnings,
  };
}

export function containerToWire(container: Container): ContainerDto {
  return {
    type: 'container',
    id: container.id,
    parent_id: container.parent_id,
    local_id: container.local_id,
    position: container.position,
    policy: container.policy,
    state: WORKFLOW_WIRE_STATE[container.state],
    reason: container.reason,
    started_at: isoTimeOrNull(container.started_at),
    ended_at: isoTimeOrNull(container.ended_at),
    mode: container.mode,
    counts: container.counts,
    open_generators: container.open_generators,
  };
}

export function treeTaskToWire(task: TreeTask): TreeTaskDto {
  return {
    type: 'task',
    id: task.id,
    parent_id: task.container_id,
    local_id: task.local_id,
    position: task.position,
    policy: task.policy,
    state: WORKFLOW_WIRE_STATE[task.state],
    reason: task.failure_reason,
    started_at: isoTimeOrNull(task.started_at),
    ended_at: isoTimeOrNull(task.ended_at),
    name: task.name,
    kind: task.kind,
    status: BATCH_WIRE_STATE[task.state],
    attempt: task.attempt,
    ...settingsToWire('tree', task),
    success: task.success_count,
    failures: task.failure_count,
    created_at: isoTime(task.created_at),
    last_updated: isoTime(task.updated_at),
    generator_id: task.generator_id,
    expansion: task.expansion,
  };
}

/** Nests the flat rows of the store. Containers come before their children, siblings by position. */
export function treeToWire(workflow: WorkflowSummary, tree: WorkflowTree): WorkflowTreeDto {
  const containers = new Map<string, TreeContainerDto>();
  for (const container of tree.containers) {
    containers.set(container.id, {
      ...containerToWire(container),
      children: [],
      children_omitted: container.counts.children,
    });
  }
  const put = (node: TreeNodeDto): void => {
    const parent = node.parent_id === null ? undefined : containers.get(node.parent_id);
    if (parent === undefined) return;
    parent.children.push(node);
    parent.children_omitted -= 1;
  };
  for (const container of containers.values()) put(container);
  for (const task of tree.tasks) put(treeTaskToWire(task));
  let truncated = false;
  for (const container of containers.values()) {
    container.children.sort((a, b) => a.position - b.position);
    truncated ||= container.children_omitted > 0;
  }
  return { ...workflowToWire(workflow), truncated, root: containers.get(workflow.id)! };
}

export function childrenToWire(page: TreePage): ChildrenDto {
  const children = [...page.containers.map(containerToWire), ...page.tasks.map(treeTaskToWire)];
  return { container: containerToWire(page.container), children: children.sort((a, b) => a.position - b.position) };
}

export function resultToWire(result: TaskResult): TaskResultDto {
  return { ...result, state: WORKFLOW_WIRE_STATE[result.state] };
}

export function treeChangesToWire({ workflow, tree }: TreeChanges): WorkflowChangeDto {
  return {
    workflow: workflowToWire(workflow),
    containers: tree.containers.map(containerToWire),
    tasks: tree.tasks.map(treeTaskToWire),
  };
}
