import { Type, type Static } from 'typebox';

import type { UnknownKind } from '@heddle/core/engine/port';
import { nullable, oneOf } from './basics.ts';

/**
 * Header for warnings of a response whose body cannot include them: a JSON array of `SubmissionWarningDto`, in ASCII.
 */
export const WARNINGS_HEADER = 'x-warnings';

export const SubmissionWarningDto = Type.Object(
  {
    code: oneOf(['UNKNOWN_KIND'], { description: 'No worker has ever requested tasks of this kind.' }),
    kind: Type.String(),
    did_you_mean: nullable(Type.String({ description: 'The most similar requested kind.' })),
    message: Type.String({ description: 'The warning as a sentence.' }),
  },
  { additionalProperties: false, title: 'SubmissionWarning' },
);
export type SubmissionWarningDto = Static<typeof SubmissionWarningDto>;

export function unknownKindToWire({ kind, did_you_mean }: UnknownKind): SubmissionWarningDto {
  const hint = did_you_mean === null ? '' : `; did you mean "${did_you_mean}"?`;
  const message = `no worker has ever requested tasks of the kind "${kind}"${hint === '' ? ';' : `${hint} Otherwise`} they wait until one does`;
  return { code: 'UNKNOWN_KIND', kind, did_you_mean, message };
}
