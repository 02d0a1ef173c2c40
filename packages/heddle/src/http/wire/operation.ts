import { Type, type Static } from 'typebox';

import { Metadata, oneOf, Uuid } from './basics.ts';

const closed = { additionalProperties: false };

export const RetryTaskDto = Type.Object(
  {
    input: Type.Optional(Metadata('Replaces its input (`metadata`), up to 64 KiB.')),
    after: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Also reopens everything after it, even what succeeded; it may itself have succeeded.',
      }),
    ),
  },
  { ...closed, title: 'RetryTask' },
);
export type RetryTaskDto = Static<typeof RetryTaskDto>;

export const BULK_TASKS_MAX = 1000;

export const BulkOperationDto = Type.Object(
  {
    operation: oneOf(['cancel', 'pause', 'resume', 'retry']),
    ids: Type.Array(Uuid('A task.'), { minItems: 1, maxItems: BULK_TASKS_MAX }),
  },
  { ...closed, title: 'BulkOperation' },
);
export type BulkOperationDto = Static<typeof BulkOperationDto>;

export const BulkResultDto = Type.Object(
  {
    changed: Type.Array(Uuid('A task that this call changed.')),
    unchanged: Type.Array(
      Type.Object({ id: Uuid('A task.'), reason: Type.String({ description: 'Why it was not changed.' }) }, closed),
    ),
  },
  { ...closed, title: 'BulkResult' },
);
export type BulkResultDto = Static<typeof BulkResultDto>;
