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

const BULK_IDS_MAX = 1000;

/** Of tasks, or of runs. */
export const BulkOperationDto = Type.Object(
  {
    operation: oneOf(['cancel', 'pause', 'resume', 'retry']),
    ids: Type.Array(Uuid('One that is to change.'), { minItems: 1, maxItems: BULK_IDS_MAX }),
  },
  { ...closed, title: 'BulkOperation' },
);
export type BulkOperationDto = Static<typeof BulkOperationDto>;

export const BulkResultDto = Type.Object(
  {
    changed: Type.Array(Uuid('One that this call changed.')),
    unchanged: Type.Array(
      Type.Object(
        { id: Uuid('Another one.'), reason: Type.String({ description: 'Why it was not changed.' }) },
        closed,
      ),
    ),
  },
  { ...closed, title: 'BulkResult' },
);
export type BulkResultDto = Static<typeof BulkResultDto>;
