import { Type, type Static } from 'typebox';

import { ERROR_CATALOGUE, type ErrorCode, type HeddleError } from '@heddle/base/errors';
import { oneOf, Uuid } from './basics.ts';

export const PROBLEM_TYPE = 'application/problem+json';

/** RFC 9457, with the members that clients of the Task Runner API read: `error`, `details`, `batch_id`. */
export const ProblemDto = Type.Object(
  {
    type: Type.String({ description: 'URI of the kind of problem.' }),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    code: Type.Unsafe<ErrorCode>(oneOf(Object.keys(ERROR_CATALOGUE))),
    error: Type.String({ description: 'What happened, in one sentence.' }),
    details: Type.Array(Type.String(), { description: 'One entry per fault, each naming its field.' }),
    batch_id: Type.Optional(Uuid('The rejected batch.')),
  },
  { additionalProperties: false, title: 'Problem' },
);
export type ProblemDto = Static<typeof ProblemDto>;

export function problemOf(error: HeddleError, batchId: string | undefined): ProblemDto {
  const { title, status } = ERROR_CATALOGUE[error.code];
  const id = error.batchId ?? batchId;
  return {
    type: `urn:heddle:problem:${error.code.toLowerCase().replaceAll('_', '-')}`,
    title,
    status,
    code: error.code,
    error: error.message,
    details: [...error.details],
    ...(id === undefined ? {} : { batch_id: id }),
  };
}
