import { Type, type Static } from 'typebox';

import { COMPLETION_POLICIES, type CompletionPolicy } from '@heddle/base/vocabulary/completion-policy';
import { NewActionOrReference } from './action.ts';
import { Metadata, oneOf } from './basics.ts';
import { RequirementsDto } from './requirements.ts';
import { RetryDto } from './retry.ts';
import { DedupeDto, RuleOrReference } from './rule.ts';
import { newSettings } from './task-settings.ts';

export const MAX_TASKS = 100_000;
export const METADATA_MAX_BYTES = 65_536;
export const DELAY_MAX_SECS = 31_536_000;

const LocalId = (description: string) => Type.String({ minLength: 1, maxLength: 255, description });

export const DependencyDto = Type.Object(
  {
    id: LocalId('Local id of the parent, in the same request.'),
    requires_success: Type.Optional(
      Type.Boolean({ default: true, description: 'True: the parent must succeed; false: it must only end.' }),
    ),
  },
  { additionalProperties: false, title: 'Dependency' },
);

const Actions = (description: string) => Type.Array(NewActionOrReference, { maxItems: 32, description });

/** A task as it is submitted. */
export const NewTaskDto = Type.Object(
  {
    id: Type.Optional(LocalId('Name of the task within this request; dependencies refer to it.')),
    name: Type.String({ minLength: 1, maxLength: 255 }),
    kind: Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'What the task does; matched by rules and workers.',
    }),
    ...newSettings('batch'),
    metadata: Type.Optional(Metadata('Any JSON object up to 64 KiB.')),
    on_start: Type.Optional(NewActionOrReference),
    on_success: Type.Optional(Actions('Fired when the task succeeds.')),
    on_failure: Type.Optional(Actions('Fired when the task fails.')),
    on_cancel: Type.Optional(Actions('Fired when the task is canceled after it was claimed.')),
    dependencies: Type.Optional(Type.Array(DependencyDto, { maxItems: MAX_TASKS })),
    rules: Type.Optional(Type.Array(RuleOrReference, { maxItems: 16 })),
    dedupe_strategy: Type.Optional(
      Type.Array(DedupeDto, { maxItems: 16, description: 'Skips the task while a matching one exists.' }),
    ),
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
    policy: Type.Optional(
      Type.Unsafe<CompletionPolicy>(
        oneOf([...COMPLETION_POLICIES], {
          default: 'FailOnFailure',
          description: 'Which outcomes of the task satisfy dependents that require its success.',
        }),
      ),
    ),
  },
  { additionalProperties: false, title: 'NewTaskDto' },
);
export type NewTaskDto = Static<typeof NewTaskDto>;

export const NewTaskList = Type.Array(NewTaskDto, { maxItems: MAX_TASKS });
