import type { ProblemDto } from './wire-types.ts';

/** A response of status 400 or above. `code` is stable, `details` names each field. */
export class HeddleApiError extends Error {
  readonly status: number;
  /** From the server's catalogue of errors; null if something else responded. */
  readonly code: ProblemDto['code'] | null;
  readonly details: readonly string[];
  readonly batchId: string | null;
  /** Seconds after which to try again; null if the server gave none. */
  readonly retryAfterSecs: number | null;
  /** The parsed body; null if it was not JSON. */
  readonly answer: unknown;

  constructor(status: number, answer: unknown, retryAfterSecs: number | null) {
    const problem = answer as Partial<ProblemDto> | null;
    const details = problem?.details ?? [];
    const what = problem?.error ?? `HTTP ${status}`;
    super(details.length === 0 ? what : `${what}: ${details.slice(0, 5).join('; ')}`);
    this.name = 'HeddleApiError';
    this.status = status;
    this.code = problem?.code ?? null;
    this.details = details;
    this.batchId = problem?.batch_id ?? null;
    this.retryAfterSecs = retryAfterSecs;
    this.answer = answer;
  }
}

/** Converts a response to an error. */
export async function errorOf(response: Response): Promise<HeddleApiError> {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  let answer: unknown = null;
  try {
    answer = await response.json();
  } catch {
    // A proxy in between may answer something else than a problem document.
  }
  return new HeddleApiError(response.status, answer, Number.isFinite(retryAfter) ? retryAfter : null);
}
