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

/** Maximum number of ids of one bulk call. */
export const BULK_MAX = 1000;

export const BulkOperationDto = Type.Object(
  {
    operation: oneOf(['cancel', 'pause', 'resume', 'retry']),
    ids: Type.Array(Uuid('A task.'), { minItems: 1, maxItems: BULK_MAX }),
  },
  { ...closed, title: 'BulkOperation' },
);
export type BulkOperationDto = Static<typeof BulkOperationDto>;

/** @param object such as `task` */
export function bulkResult(object: string, title: string) {
  const reason = Type.String({ description: 'Why it was not changed.' });
  return Type.Object(
    {
      changed: Type.Array(Uuid(`A ${object} that this call changed.`)),
      unchanged: Type.Array(Type.Object({ id: Uuid(`A ${object}.`), reason }, closed)),
    },
    { ...closed, title },
  );
}

export const BulkResultDto = bulkResult('task', 'BulkResult');
export type BulkResultDto = Static<typeof BulkResultDto>;
