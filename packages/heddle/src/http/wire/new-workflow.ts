import { Type, type Static } from 'typebox';

import { KIND_CHARS_MAX, LOCAL_ID_CHARS_MAX, NAME_CHARS_MAX } from '@heddle/core/domain/parse/node';
import {
  COMPLETION_POLICIES,
  CONTAINER_MODES,
  type CompletionPolicy,
  type ContainerMode,
} from '@heddle/base/vocabulary/workflow';
import { NewActionDto } from './action.ts';
import { Metadata, oneOf } from './basics.ts';
import { DELAY_MAX_SECS } from './new-task.ts';
import { WorkflowNotificationDto } from './notification.ts';
import { RequirementsDto } from './requirements.ts';
import { RetryDto } from './retry.ts';
import { RuleDto } from './rule.ts';
import { newSettings } from './task-settings.ts';

const nodeProperties = {
  id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: LOCAL_ID_CHARS_MAX,
      description:
        'A UUID is the id of the node; any other string is a name for it, unique within the workflow. The UUID of the root is the id of the workflow: a repeat with the same one changes nothing.',
    }),
  ),
  local_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: LOCAL_ID_CHARS_MAX,
      description: 'A name, unique within the workflow, beside a UUID in `id`.',
    }),
  ),
  policy: Type.Optional(
    Type.Unsafe<CompletionPolicy>(
      oneOf([...COMPLETION_POLICIES], {
        default: 'FailOnFailure',
        description: 'Which child outcomes let the sequence continue.',
      }),
    ),
  ),
};

export const NewTreeTaskDto = Type.Object(
  {
    ...nodeProperties,
    kind: Type.String({
      minLength: 1,
      maxLength: KIND_CHARS_MAX,
      description: 'What the task does; matched by workers.',
    }),
    name: Type.Optional(
      Type.String({ minLength: 1, maxLength: NAME_CHARS_MAX, description: 'Default: its local name, else its kind.' }),
    ),
    input: Type.Optional(
      Metadata(
        'Any JSON object up to 64 KiB. `{ "$expr": "…" }` anywhere in it is replaced by the value of a CEL expression over earlier nodes, evaluated when an attempt starts.',
      ),
    ),
    ...newSettings('tree'),
    delay: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: DELAY_MAX_SECS,
        default: 0,
        description: 'Delay before it may start, seconds.',
      }),
    ),
    retry: Type.Optional(RetryDto),
    requirements: Type.Optional(RequirementsDto),
    rules: Type.Optional(
      Type.Array(RuleDto, {
        maxItems: 16,
        description: 'All of them must admit it. Their fields are members of `input`.',
      }),
    ),
    on_start: Type.Optional(NewActionDto),
    on_success: Type.Optional(Type.Array(NewActionDto, { maxItems: 16 })),
    on_failure: Type.Optional(Type.Array(NewActionDto, { maxItems: 16 })),
    on_cancel: Type.Optional(Type.Array(NewActionDto, { maxItems: 16 })),
    disabled: Type.Optional(Type.Boolean({ default: false, description: 'It never runs and does not count.' })),
    generator: Type.Optional(
      Type.Boolean({
        description: 'It may add nodes to containers beside it. Default: whether its kind ends with `Generator`.',
      }),
    ),
  },
  { additionalProperties: false, title: 'NewWorkflowTask' },
);
export type NewTreeTaskDto = Static<typeof NewTreeTaskDto>;

export interface NewContainerDto {
  id?: string;
  local_id?: string;
  policy?: CompletionPolicy;
  mode: ContainerMode;
  children: readonly NewNodeDto[];
}

export type NewNodeDto = NewContainerDto | NewTreeTaskDto;

export const NewContainerDto = Type.Object(
  {
    ...nodeProperties,
    mode: Type.Unsafe<ContainerMode>(
      oneOf([...CONTAINER_MODES], { description: 'Whether its children run sequentially or in parallel.' }),
    ),
    children: Type.Array(Type.Unsafe<NewNodeDto>({ $ref: 'WorkflowNode#' })),
  },
  { additionalProperties: false, title: 'NewWorkflowContainer' },
);

/** Named in the API description, because it is recursive. */
export const WorkflowNode = Type.Union([NewContainerDto, NewTreeTaskDto], {
  $id: 'WorkflowNode',
  description: 'A container with its children, or a task.',
});

/** A workflow as it is submitted. */
export const NewWorkflowDto = Type.Object(
  {
    name: Type.Optional(
      Type.String({ minLength: 1, maxLength: NAME_CHARS_MAX, description: 'Display name of the workflow.' }),
    ),
    root: Type.Unsafe<NewContainerDto>({ $ref: 'WorkflowNode#', description: 'A container.' }),
    notify: Type.Optional(
      Type.Array(WorkflowNotificationDto, { maxItems: 16, description: 'Notifications sent when the workflow ends.' }),
    ),
  },
  { additionalProperties: false, title: 'NewWorkflowDto' },
);
export type NewWorkflowDto = Static<typeof NewWorkflowDto>;
