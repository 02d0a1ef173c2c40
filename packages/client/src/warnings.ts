import type { SubmissionWarningDto } from './wire-types.ts';

/** Returns the warnings that the server sent in the header of a response. */
export function warningsOf(response: Response): SubmissionWarningDto[] {
  return JSON.parse(response.headers.get('x-warnings') ?? '[]') as SubmissionWarningDto[];
}
