import { Type, type Static, type TSchema } from 'typebox';

import { EXHAUSTIONS } from '@heddle/core/domain/runner/state';
import { BATCH_WIRE_STATE, type TaskState } from '@heddle/base/vocabulary/task-state';
import type { TaskId } from '@heddle/base/ids';
import { WORKFLOW_WIRE_STATE, type WorkflowWireState } from '@heddle/base/vocabulary/workflow';
import type { ContainerExplanation, ContainerObstacle, Explanation, Obstacle } from '@heddle/core/engine/explanation';
import { attemptToWire, TaskAttemptDto } from './attempt.ts';
import { Count, isoTime, isoTimeOrNull, Metadata, nullable, oneOf, Status, Timestamp, Uuid } from './basics.ts';
import { DemandDto, demandToWire } from './requirements.ts';
import { BasicTaskDto, basicTaskToWire } from './task.ts';
import { ContainerDto, containerToWire, WorkflowState } from './workflow.ts';

const NamedTask = Type.Object(
  { id: Uuid('The task.'), name: Type.String(), status: Status },
  { additionalProperties: false },
);

const variant = <const Name extends string, Fields extends Record<string, TSchema>>(name: Name, fields: Fields) =>
  Type.Object({ type: oneOf([name]), ...fields }, { additionalProperties: false });

const TurnDto = variant('sequence', {
  container: Type.Object(
    { id: Uuid('The container.'), local_id: nullable(Type.String()), state: WorkflowState },
    { additionalProperties: false, description: 'The sequence that has not reached the node.' },
  ),
  before: Type.Array(Type.String(), { description: 'Unfinished predecessors: at most 20 names.' }),
});

export const ObstacleDto = Type.Union([
  TurnDto,
  variant('expanding', {
    expected: Type.Integer({ description: 'Nodes announced by the generator.' }),
    created: Type.Integer({ description: 'Existing nodes.' }),
  }),
  variant('parents', {
    parents: Type.Array(
      Type.Object({ ...NamedTask.properties, requires_success: Type.Boolean() }, { additionalProperties: false }),
    ),
    total: Type.Integer(),
  }),
  variant('rule', {
    rule: oneOf(['Concurency', 'Capacity']),
    kind: Type.String(),
    fields: Metadata('Values of the fields that the rule compares.'),
    max: Type.Integer(),
    used: Type.Integer(),
    holders: Type.Array(NamedTask),
  }),
  variant('paused', { since: Timestamp('When it was paused') }),
  variant('delayed', { until: Timestamp('When it may start'), attempt: Type.Integer() }),
  variant('no_worker', {
    lane: Type.String(),
    last_seen: nullable(Timestamp('When a worker last polled')),
    never: Type.Optional(
      Type.Object(
        { did_you_mean: nullable(Type.String({ description: 'The most similar kind that a worker has requested.' })) },
        { additionalProperties: false, description: 'No worker has ever requested its kind.' },
      ),
    ),
  }),
  variant('runner', {
    requirements: DemandDto,
    stage: oneOf(['not_requested', 'blocked', 'waiting', 'granted'], {
      description: 'blocked: a rule would keep it from starting; granted: its runner is about to start.',
    }),
    request_id: nullable(Uuid('The request to the pool.')),
    since: nullable(Timestamp('When it was requested')),
    ahead: Type.Integer({ description: 'Requests for the same class ahead of it.' }),
    exhaustion: nullable(
      oneOf([...EXHAUSTIONS], {
        description: 'global: no runner is idle; local: no idle runner matches; uncertain: not all could be checked.',
      }),
    ),
    launching: Type.Integer({
      description: 'Matching runners that are launching, including those for other requests.',
    }),
    last_failure: nullable(Type.String({ description: 'Why the last launch failed.' })),
    runners: Type.Array(
      Type.Object(
        { id: Uuid('The runner.'), number: Type.Integer(), running: Type.Boolean() },
        { additionalProperties: false },
      ),
      { description: 'The granted runners.' },
    ),
  }),
  variant('queued', { ahead: Type.Integer() }),
  variant('delivering', {
    tries: Type.Integer(),
    last_error: nullable(Type.String()),
    next_try_at: nullable(Timestamp('When the start webhook is tried next')),
  }),
]);
export type ObstacleDto = Static<typeof ObstacleDto>;

const ExpansionDto = Type.Object(
  {
    expected: nullable(Type.Integer({ description: 'Nodes that it announced; null before.' })),
    created: Type.Integer({ description: 'Nodes that its current attempt created.' }),
    missing: nullable(Type.Integer({ description: 'Announced nodes that do not exist yet.' })),
    created_ids: Type.Array(Uuid('A node.'), {
      description: 'The existing nodes in ascending order, the first 1,000.',
    }),
    dead_letters: Type.Array(
      Type.Object({ id: nullable(Type.String()), reason: Type.String() }, { additionalProperties: false }),
      { description: 'Missing nodes whose messages the manager dead-lettered, the first 20.' },
    ),
  },
  { additionalProperties: false, description: 'The announced and the existing nodes of a generator.' },
);

const DependentsDto = Type.Object(
  {
    total: Count('How many there are, counted up to 1,000.'),
    total_capped: Type.Boolean({ description: 'Whether there are more.' }),
    held_up: Count('Of those counted, the ones that have not ended, or failed because of what is before them.'),
    tasks: Type.Array(NamedTask, { description: 'The first 20, the nearest first.' }),
  },
  {
    additionalProperties: false,
    description:
      'What comes after it: in a batch all that depends on it, in a workflow all that follows in the sequences around it.',
  },
);

export const ExplanationDto = Type.Object(
  {
    task: BasicTaskDto,
    summary: Type.String({ description: 'One sentence that explains why the task is not running.' }),
    obstacles: Type.Array(ObstacleDto, { description: 'Most important first.' }),
    dependents: DependentsDto,
    expansion: nullable(ExpansionDto),
    ended_attempts: Type.Array(TaskAttemptDto, { description: 'Its attempts that ended, newest first: the last 5.' }),
  },
  { additionalProperties: false, title: 'Explanation' },
);
export type ExplanationDto = Static<typeof ExplanationDto>;

const OpenNode = {
  id: Uuid('The node.'),
  name: Type.String({ description: 'Its local name, else its name, else the id of a container.' }),
  state: WorkflowState,
};

export const ContainerObstacleDto = Type.Union([
  variant('workflow_paused', {}),
  TurnDto,
  variant('children', {
    children: Type.Array(
      Type.Object({ type: oneOf(['task', 'container']), ...OpenNode }, { additionalProperties: false }),
      { description: 'For a sequence, the current child; else the first 20 unfinished ones.' },
    ),
    open: Type.Integer({ description: 'Unfinished children.' }),
  }),
  variant('generators', {
    generators: Type.Array(Type.Object(OpenNode, { additionalProperties: false }), {
      description: 'The first 20 tasks elsewhere in the workflow that may still add children.',
    }),
    total: Type.Integer({ description: 'Their number.' }),
  }),
]);
export type ContainerObstacleDto = Static<typeof ContainerObstacleDto>;

export const ContainerExplanationDto = Type.Object(
  {
    container: ContainerDto,
    summary: Type.String({ description: 'One sentence that explains why it has not started or ended.' }),
    obstacles: Type.Array(ContainerObstacleDto, { description: 'Most important first.' }),
  },
  { additionalProperties: false, title: 'ContainerExplanation' },
);
export type ContainerExplanationDto = Static<typeof ContainerExplanationDto>;

function namedTask(task: { id: TaskId; name: string; state: TaskState }): Static<typeof NamedTask> {
  return { id: task.id, name: task.name, status: BATCH_WIRE_STATE[task.state] };
}

function turnToWire({ container, before }: Extract<Obstacle, { type: 'sequence' }>): Static<typeof TurnDto> {
  return { type: 'sequence', container: inWireState(container), before };
}

function inWireState<Node extends { state: TaskState }>(
  node: Node,
): Omit<Node, 'state'> & { state: WorkflowWireState } {
  return { ...node, state: WORKFLOW_WIRE_STATE[node.state] };
}

function containerObstacleToWire(obstacle: ContainerObstacle): ContainerObstacleDto {
  switch (obstacle.type) {
    case 'workflow_paused':
      return { type: 'workflow_paused' };
    case 'sequence':
      return turnToWire(obstacle);
    case 'children':
      return { type: 'children', children: obstacle.children.map(inWireState), open: obstacle.open };
    case 'generators':
      return { type: 'generators', generators: obstacle.generators.map(inWireState), total: obstacle.total };
  }
}

export function containerExplanationToWire(explanation: ContainerExplanation): ContainerExplanationDto {
  return {
    container: containerToWire(explanation.container),
    summary: explanation.summary,
    obstacles: explanation.obstacles.map(containerObstacleToWire),
  };
}

function obstacleToWire(obstacle: Obstacle): ObstacleDto {
  switch (obstacle.type) {
    case 'sequence':
      return turnToWire(obstacle);
    case 'expanding':
      return { ...obstacle };
    case 'parents':
      return {
        type: 'parents',
        parents: obstacle.parents.map((parent) => ({
          ...namedTask(parent),
          requires_success: parent.requires_success,
        })),
        total: obstacle.total,
      };
    case 'rule':
      return {
        ...obstacle,
        rule: obstacle.rule === 'capacity' ? 'Capacity' : 'Concurency',
        holders: obstacle.holders.map(namedTask),
      };
    case 'paused':
      return { type: 'paused', since: isoTime(obstacle.since) };
    case 'delayed':
      return { type: 'delayed', until: isoTime(obstacle.until), attempt: obstacle.attempt };
    case 'no_worker':
      return { ...obstacle, last_seen: isoTimeOrNull(obstacle.last_seen) };
    case 'runner':
      return { ...obstacle, requirements: demandToWire(obstacle.requirements), since: isoTimeOrNull(obstacle.since) };
    case 'queued':
      return { type: 'queued', ahead: obstacle.ahead };
    case 'delivering':
      return { ...obstacle, next_try_at: isoTimeOrNull(obstacle.next_try_at) };
  }
}

export function explanationToWire(explanation: Explanation): ExplanationDto {
  return {
    task: basicTaskToWire(explanation.task),
    summary: explanation.summary,
    obstacles: explanation.obstacles.map(obstacleToWire),
    dependents: { ...explanation.dependents, tasks: explanation.dependents.tasks.map(namedTask) },
    expansion: explanation.expansion,
    ended_attempts: explanation.ended_attempts.map(attemptToWire),
  };
}
