import { Type, type Static } from 'typebox';

import { Count, Metadata, oneOf, Status, Uuid } from './basics.ts';

export const REASON_MAX_CHARS = 10_000;

export const UpdateTaskDto = Type.Object(
  {
    status: Type.Optional(oneOf(['Success', 'Failure'], { description: 'How the task ended.' })),
    new_success: Type.Optional(Count('Added to `success`.')),
    new_failures: Type.Optional(Count('Added to `failures`.')),
    metadata: Type.Optional(Metadata('Merged into the metadata (RFC 7396): null removes a member.')),
    failure_reason: Type.Optional(
      Type.String({ minLength: 1, maxLength: REASON_MAX_CHARS, description: 'Required with `"status": "Failure"`.' }),
    ),
    attempt: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 32_767,
        description: 'The attempt that this reports on (default the current one).',
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1, title: 'UpdateTaskDto' },
);
export type UpdateTaskDto = Static<typeof UpdateTaskDto>;

export const ProgressDto = Type.Object(
  {
    new_success: Type.Optional(Count('Added to `success`.')),
    new_failures: Type.Optional(Count('Added to `failures`.')),
  },
  { additionalProperties: false, title: 'ProgressDto', description: 'At least one of the two must not be zero.' },
);
export type ProgressDto = Static<typeof ProgressDto>;

export const ProgressResultDto = Type.Object(
  {
    id: Uuid('The task.'),
    result: oneOf(['applied', 'repeated'], { description: '`repeated`: this idempotency key was already counted.' }),
  },
  { additionalProperties: false, title: 'ProgressResult' },
);

export const TaskStatusDto = Type.Object(
  { id: Uuid('The task.'), status: Status },
  { additionalProperties: false, title: 'TaskStatus' },
);
