import { isDeepStrictEqual } from 'node:util';

import { Type, type Static } from 'typebox';

import type { JsonObject } from '@heddle/base/json';
import { redactRequests } from '@heddle/base/redact';
import type { NewTask } from '@heddle/base/vocabulary/task';
import { changedSettings } from '@heddle/base/vocabulary/task-fields';
import type { NewContainerNode } from '@heddle/base/vocabulary/workflow';
import { encodeActions } from '@heddle/core/domain/parse/actions';
import { encodeName, encodeNode } from '@heddle/core/domain/parse/encode';
import { encodeWorkflowNotifications } from '@heddle/core/domain/parse/notification';
import { encodeRetry } from '@heddle/core/domain/parse/retry';
import { encodeRule } from '@heddle/core/domain/parse/rules';
import { encodeDemand } from '@heddle/core/domain/runner/parse-requirements';
import type { RunDefinition } from '@heddle/core/engine/port';
import { tasksIn } from '@heddle/base/vocabulary/workflow';
import { Count, Metadata, nullable, oneOf, Uuid } from './basics.ts';
import { NewTaskDto } from './new-task.ts';
import { NewWorkflowDto } from './new-workflow.ts';
import { dedupeToWire } from './rule.ts';
import { shownInput } from './shown-input.ts';

const closed = { additionalProperties: false };

const LeftOutDto = Type.Object(
  {
    generated_tasks: Count('Tasks that generators created, and will create again.'),
    dependencies: Count('Dependencies on tasks of other batches, which stood in for duplicates.'),
  },
  { ...closed, description: 'What a definition cannot hold.' },
);

const common = {
  redacted: Type.Boolean({
    description: 'Whether secrets of requests are replaced by `[redacted]`; running it again copies them.',
  }),
  left_out: LeftOutDto,
};

export const BatchDefinitionDto = Type.Object(
  {
    type: oneOf(['batch']),
    name: nullable(Type.String({ description: 'The name of the batch: `batch_name` of a submission.' })),
    tasks: Type.Array(NewTaskDto, { description: 'The body of `POST /task`.' }),
    ...common,
  },
  { ...closed, title: 'BatchDefinition' },
);
export type BatchDefinitionDto = Static<typeof BatchDefinitionDto>;

/** The nodes are not repeated in the API description, because they are recursive. */
export const WorkflowDefinitionDto = Type.Object(
  {
    type: oneOf(['workflow']),
    name: nullable(Type.String()),
    workflow: Type.Unsafe<NewWorkflowDto>({ ...NewWorkflowDto, description: 'The body of `POST /v1/workflows`.' }),
    ...common,
  },
  { ...closed, title: 'WorkflowRunDefinition' },
);
export type WorkflowDefinitionDto = Static<typeof WorkflowDefinitionDto>;

export const RunDefinitionDto = Type.Union([BatchDefinitionDto, WorkflowDefinitionDto], {
  description: 'What was submitted as a run.',
});
export type RunDefinitionDto = Static<typeof RunDefinitionDto>;

export const RerunDto = Type.Object(
  {
    inputs: Type.Optional(
      Type.Record(Type.String(), Metadata('The input.'), {
        description: 'Other inputs, by the id of the task in the earlier run, or by its name (`id`) in the submission.',
      }),
    ),
  },
  { ...closed, title: 'Rerun' },
);
export type RerunDto = Static<typeof RerunDto>;

export const StartedRunDto = Type.Object(
  { id: Uuid('The new run.'), type: oneOf(['batch', 'workflow']) },
  { ...closed, title: 'StartedRun' },
);
export type StartedRunDto = Static<typeof StartedRunDto>;

/** Returns the definition for readers: secrets of its requests are redacted. */
export function definitionToWire(definition: RunDefinition): RunDefinitionDto {
  let redacted = false;
  const redact = <Value>(value: Value): Value => {
    const shown = redactRequests(value) as Value;
    redacted ||= !isDeepStrictEqual(shown, value);
    return shown;
  };
  const show = (task: NewTask): NewTask => {
    const metadata = shownInput(task);
    redacted ||= metadata !== task.metadata && !isDeepStrictEqual(metadata, task.metadata);
    return { ...task, metadata, actions: task.actions.length === 0 ? task.actions : redact(task.actions) };
  };
  const { name, left_out } = definition;
  if (definition.type === 'batch') {
    const tasks = submissionOf({ ...definition, tasks: definition.tasks.map(show) }) as NewTaskDto[];
    return { type: 'batch', name, tasks, redacted, left_out };
  }
  const root = withTasks(definition.root, show);
  const notify = redact(encodeWorkflowNotifications(definition.notify));
  const workflow = workflowBody(name, root, notify) as unknown as NewWorkflowDto;
  return { type: 'workflow', name, workflow, redacted, left_out };
}

/** Returns the body with which an equal run can be submitted, with all secrets of its requests. */
export function submissionOf(definition: RunDefinition): unknown {
  if (definition.type === 'batch') {
    const { tasks } = definition;
    return tasks.map((task) => encodeTask(task, tasks));
  }
  return workflowBody(definition.name, definition.root, encodeWorkflowNotifications(definition.notify));
}

/** Returns the tasks of a definition. */
export function tasksOfDefinition(definition: RunDefinition): readonly NewTask[] {
  return definition.type === 'batch' ? definition.tasks : tasksIn(definition.root);
}

function workflowBody(name: string | null, root: NewContainerNode, notify: readonly JsonObject[]): JsonObject {
  return {
    ...(name === null ? {} : { name }),
    root: encodeNode(root, encodeName),
    ...(notify.length === 0 ? {} : { notify: [...notify] }),
  };
}

function encodeTask(task: NewTask, tasks: readonly NewTask[]): JsonObject {
  const { local_id, metadata, actions, rules, dedupe, retry, requirements, policy } = task;
  const dependencies = task.dependencies.flatMap((dependency) => {
    const id = 'index' in dependency ? tasks[dependency.index]!.local_id : null;
    return id === null ? [] : [{ id, ...(dependency.requires_success ? {} : { requires_success: false }) }];
  });
  return {
    ...(local_id === null ? {} : { id: local_id }),
    name: task.name,
    kind: task.kind,
    ...changedSettings('batch', task),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...encodeActions(actions),
    ...(dependencies.length === 0 ? {} : { dependencies }),
    ...(rules.length === 0 ? {} : { rules: rules.map(encodeRule) }),
    ...(dedupe.length === 0 ? {} : { dedupe_strategy: dedupe.map(dedupeToWire) }),
    ...(retry === null ? {} : { retry: encodeRetry(retry) }),
    ...(requirements === undefined ? {} : { requirements: encodeDemand(requirements) }),
    ...(policy === undefined ? {} : { policy }),
  };
}

/** Returns a copy of a tree with other tasks. Works without recursion, since a tree may be deeper than the call stack. */
function withTasks(root: NewContainerNode, change: (task: NewTask) => NewTask): NewContainerNode {
  const copy = { ...root };
  const pending = [copy];
  for (let container = pending.pop(); container !== undefined; container = pending.pop()) {
    container.children = container.children.map((child) => {
      if (child.type === 'task') return { ...child, task: change(child.task) };
      const below = { ...child };
      pending.push(below);
      return below;
    });
  }
  return copy;
}
