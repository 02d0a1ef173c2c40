import type {
  BackfillDto,
  BackfillResultDto,
  CalendarEntryDto,
  JobChangeDto,
  JobDetailDto,
  JobDto,
  JobRunDto,
  NewJobDto,
  OccurrenceDto,
  SubmissionWarningDto,
} from './wire-types.ts';
import type { Transport } from './transport.ts';
import { warningsOf } from './warnings.ts';

interface Page {
  page?: number;
  page_size?: number;
}

/** A job as it was stored, with warnings about its workflow, such as kinds that no worker has ever requested. */
export type StoredJob = JobDetailDto & { warnings: SubmissionWarningDto[] };

/** Jobs: workflows on a schedule. A job is identified by its id or its name. */
export class JobsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(job: NewJobDto): Promise<StoredJob> {
    return this.#store('POST', '/v1/jobs', job);
  }

  /** Returns jobs by name, each with its last run, and as many as `recent_runs` asks for, at most 20. */
  list(filter: Page & { paused?: boolean; recent_runs?: number } = {}): Promise<JobDto[]> {
    return this.#transport.json('GET', '/v1/jobs', { query: { ...filter } });
  }

  get(job: string): Promise<JobDetailDto> {
    return this.#transport.json('GET', jobPath(job));
  }

  /** Keeps absent members unchanged. */
  update(job: string, change: JobChangeDto): Promise<StoredJob> {
    return this.#store('PATCH', jobPath(job), change);
  }

  async #store(method: string, path: string, body: NewJobDto | JobChangeDto): Promise<StoredJob> {
    const response = await this.#transport.send(method, path, { body });
    return { ...((await response.json()) as JobDetailDto), warnings: warningsOf(response) };
  }

  /** Deletes the job and its history; keeps the workflows that it started. */
  async remove(job: string): Promise<void> {
    await this.#transport.send('DELETE', jobPath(job));
  }

  pause(job: string): Promise<JobDetailDto> {
    return this.#transport.json('POST', `${jobPath(job)}/pause`);
  }

  resume(job: string): Promise<JobDetailDto> {
    return this.#transport.json('POST', `${jobPath(job)}/resume`);
  }

  /**
   * Starts it now; CONFLICT if its overlap policy does not allow another run. A repeat with the same key starts
   * nothing.
   */
  trigger(job: string, options: { idempotencyKey?: string } = {}): Promise<JobRunDto> {
    const headers = { 'idempotency-key': options.idempotencyKey };
    return this.#transport.json('POST', `${jobPath(job)}/trigger`, { headers });
  }

  /** Starts a run for each occurrence in a range of the past; a repeat with the same key starts nothing. */
  backfill(
    job: string,
    { idempotencyKey, ...body }: BackfillDto & { idempotencyKey?: string },
  ): Promise<BackfillResultDto> {
    const headers = { 'idempotency-key': idempotencyKey };
    return this.#transport.json('POST', `${jobPath(job)}/backfill`, { body, headers });
  }

  /** Returns what jobs started and will start, oldest first, and the number of further entries. */
  async calendar(range: { since?: string; until?: string } = {}): Promise<{
    entries: CalendarEntryDto[];
    left_out: number;
  }> {
    const response = await this.#transport.send('GET', '/v1/jobs/calendar', { query: { ...range } });
    const entries = (await response.json()) as CalendarEntryDto[];
    return { entries, left_out: Number(response.headers.get('x-left-out') ?? 0) };
  }

  /** Returns its next occurrences, five by default. */
  next(job: string, count?: number): Promise<OccurrenceDto[]> {
    return this.#transport.json('GET', `${jobPath(job)}/next`, { query: { count } });
  }

  /** Returns the next occurrences of a schedule, five by default: checks an expression before a job has it. */
  preview(cron: string, options: { time_zone?: string; count?: number } = {}): Promise<OccurrenceDto[]> {
    return this.#transport.json('GET', '/v1/occurrences', { query: { cron, ...options } });
  }

  /** Returns the outcome of each occurrence, latest first. */
  history(job: string, filter: Page & { state?: JobRunDto['state'] } = {}): Promise<JobRunDto[]> {
    return this.#transport.json('GET', `${jobPath(job)}/history`, { query: { ...filter } });
  }
}

function jobPath(job: string): string {
  return `/v1/jobs/${encodeURIComponent(job)}`;
}
