import { Type, type Static } from 'typebox';

import type { UnknownKind } from '../../engine/port.ts';
import { nullable, oneOf } from './basics.ts';

/** The header of an answer that has no room for warnings in its body: a JSON array of `SubmissionWarningDto`, in ASCII. */
export const WARNINGS_HEADER = 'x-warnings';

export const SubmissionWarningDto = Type.Object(
  {
    code: oneOf(['UNKNOWN_KIND'], { description: 'No worker has ever asked for tasks of this kind.' }),
    kind: Type.String(),
    did_you_mean: nullable(Type.String({ description: 'The nearest kind that one has asked for.' })),
    message: Type.String({ description: 'The same, for people.' }),
  },
  { additionalProperties: false, title: 'SubmissionWarning' },
);
export type SubmissionWarningDto = Static<typeof SubmissionWarningDto>;

export function unknownKindToWire({ kind, did_you_mean }: UnknownKind): SubmissionWarningDto {
  const hint = did_you_mean === null ? '' : `; did you mean "${did_you_mean}"?`;
  const message = `no worker has ever asked for tasks of the kind "${kind}"${hint === '' ? ';' : `${hint} Otherwise`} they wait until one does`;
  return { code: 'UNKNOWN_KIND', kind, did_you_mean, message };
}
