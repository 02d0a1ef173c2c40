import type { Logger } from '@heddle/base/log';
import type { JsonObject } from '@heddle/base/json';
import { linesOf } from '@heddle/base/log-slab';
import type { HeddleClient, WorkDto } from '@heddle/client';
import { HeddleApiError } from '@heddle/client';
import type {
  ClaimedTask,
  ClaimRequest,
  Engine,
  Heartbeat,
  HeartbeatResult,
  NodeCreation,
  NodeCreationResult,
  ProgressReport,
  ProgressResult,
  Report,
  TransitionOutcome,
} from '@heddle/core/engine/port';
import { encodeNode } from '@heddle/core/domain/parse/encode';
import type { LocalWorkerOptions } from '../dispatch/local-worker.ts';
import { isFinal, serverLogs, unavailable } from './server-access.ts';

/** How long a claim waits for a task, seconds. */
const WAIT_SECS = 20;
const LEASE_MS = 60_000;
const TASKS_MAX = 1_000;
/** Requests that are sent at once, of one set. */
const CONCURRENT = 16;

const NODES_MAX = 500;

type WorkerInfo = NonNullable<Parameters<HeddleClient['work']['claim']>[0]['worker']>;
type NewNodes = Parameters<HeddleClient['work']['createChildren']>[1]['nodes'];
type ServerEngine = LocalWorkerOptions['engine'] & Pick<Engine, 'createNodes' | 'readResults'>;

/** The part of the engine that a worker needs, by requests to a server: a worker without a database. */
export class RemoteEngine implements ServerEngine {
  readonly #client: HeddleClient;
  readonly #holder: string;
  readonly #worker: WorkerInfo;
  readonly #stop = new AbortController();
  /** Of the workers, by their lanes. */
  readonly #wakes = new Map<readonly string[], () => void>();
  readonly appendLogs: ServerEngine['appendLogs'];
  /** Ends that the server has accepted, by outcome. */
  readonly ended = { succeeded: 0, partially_failed: 0, failed: 0, timed_out: 0 };

  /**
   * @param holder name of the worker
   * @param worker what the list of workers shows of it
   */
  constructor(client: HeddleClient, holder: string, log: Logger, worker: WorkerInfo = {}) {
    this.#client = client;
    this.#holder = holder;
    this.#worker = worker;
    this.appendLogs = serverLogs(client, log, holder);
  }

  /** Reports that the worker stops; without an answer it is shown as lost. */
  async leave(): Promise<void> {
    await this.#client.work.leave(this.#holder).catch(() => undefined);
  }

  /** Ends claims that wait. */
  stopClaiming(): void {
    this.#stop.abort();
  }

  claim(request: ClaimRequest): Promise<ClaimedTask[]> {
    return this.#claim(request, WAIT_SECS);
  }

  async #claim({ lanes, limit, lease_ms }: ClaimRequest, wait_secs: number): Promise<ClaimedTask[]> {
    if (this.#stop.signal.aborted) return [];
    const lease_secs = Math.max(5, Math.round((lease_ms ?? LEASE_MS) / 1000));
    const claimed = await this.#claimFrom(lanes, { max: Math.min(limit, TASKS_MAX), lease_secs, wait_secs }).catch(
      (error: unknown) => {
        if (this.#stop.signal.aborted) return [];
        throw isFinal(error) ? error : unavailable(error);
      },
    );
    // More may be ready; nothing else reports it.
    if (claimed.length > 0) setImmediate(() => this.#wakes.get(lanes)?.());
    return claimed.map(({ input, root_container_id, parent_id, holder: _, ...task }) => ({
      ...task,
      workflow_id: root_container_id,
      container_id: parent_id,
      metadata: input as JsonObject,
      linked: true,
    }));
  }

  /** The lane of a runner has its one task, and its agent says when to look. */
  #claimFrom(
    lanes: readonly string[],
    { max, lease_secs, wait_secs }: { max: number; lease_secs: number; wait_secs: number },
  ): Promise<WorkDto[]> {
    const holder = this.#holder;
    if (lanes[0]!.startsWith('runner:')) return this.#client.runner.claim({ lease_secs, holder });
    const kinds = lanes.map((lane) => lane.replace(/^kind:/, ''));
    return this.#client.work.claim(
      { kinds, max, lease_secs, wait_secs, holder, worker: this.#worker },
      this.#stop.signal,
    );
  }

  report(reports: readonly Report[]): Promise<TransitionOutcome[]> {
    return inParts(reports, (report) => this.#report(report));
  }

  async reportAndClaim(
    reports: readonly Report[],
    request: ClaimRequest,
  ): Promise<{ outcomes: TransitionOutcome[]; claimed: ClaimedTask[] }> {
    const outcomes = await this.report(reports);
    // A failed claim must not repeat the reports.
    const claimed = await this.#claim(request, 0).catch(() => []);
    return { outcomes, claimed };
  }

  async #report({ log, ...report }: Report): Promise<TransitionOutcome> {
    if (log !== undefined) {
      const { task_id, attempt } = report;
      await this.appendLogs([{ task_id, attempt: attempt ?? 1, first_line: 0, ...linesOf(log) }]);
    }
    const { task_id, attempt, outcome, reason = 'it failed without a reason', final, exit_code, result } = report;
    const task = this.#held(task_id, attempt);
    const code = exit_code === undefined ? {} : { exit_code };
    const { work } = this.#client;
    if (report.notices !== undefined) return this.#report(withoutNotices(report));
    const ended =
      outcome === 'succeeded' || outcome === 'partially_failed'
        ? work.complete(task, {
            ...(outcome === 'succeeded' ? {} : { state: 'PartiallyFailed' as const }),
            ...(result === undefined ? {} : { result }),
            ...(report.expected_created === undefined ? {} : { expected_task_count: report.expected_created }),
            ...(report.disable === undefined ? {} : { disable: [...report.disable] }),
            ...code,
          })
        : work.fail(task, reason, { ...(final === true ? { final } : {}), ...code });
    return ended.then(
      ({ result: applied }) => {
        this.ended[outcome] += 1;
        return { task_id, result: applied, state: null };
      },
      (error: unknown) => ({ task_id, result: refusalOf(error), state: null }),
    );
  }

  progress(reports: readonly ProgressReport[]): Promise<ProgressResult[]> {
    return inParts(reports, async ({ task_id, attempt, new_success, new_failures }) => {
      const result = await this.#beat({ task_id, attempt: attempt ?? 1, new_success, new_failures });
      return result === 'canceled' ? 'terminal' : result;
    });
  }

  heartbeat(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]> {
    return inParts(beats, (beat) => this.#beat(beat));
  }

  async #beat({ task_id, attempt, new_success, new_failures }: Heartbeat): Promise<HeartbeatResult> {
    try {
      await this.#client.work.heartbeat(this.#held(task_id, attempt), { new_success, new_failures });
      return 'applied';
    } catch (error) {
      const refusal = refusalOf(error);
      return refusal === 'not_found' || refusal === 'stale_attempt' ? refusal : 'canceled';
    }
  }

  /** Heartbeats report cancellations; a token for work may not read tasks. */
  getTask(): Promise<never> {
    return Promise.reject(new Error('a worker without a database looks up no tasks'));
  }

  onReady(lanes: readonly string[], wake: () => void): () => void {
    this.#wakes.set(lanes, wake);
    return () => void this.#wakes.delete(lanes);
  }

  offerToClaim(): () => void {
    return () => undefined;
  }

  release(tasks: readonly { task_id: string; attempt: number }[]): Promise<TransitionOutcome[]> {
    return inParts(tasks, ({ task_id, attempt }) =>
      this.#client.work.release(this.#held(task_id, attempt)).then(
        ({ result }) => ({ task_id, result, state: null }),
        (error: unknown) => ({ task_id, result: refusalOf(error), state: null }),
      ),
    );
  }

  async createNodes(creations: readonly NodeCreation[]): Promise<NodeCreationResult[]> {
    const results: NodeCreationResult[] = [];
    for (const set of byParent(creations)) results.push(...(await this.#createUnder(set)));
    return results;
  }

  /** @param set of one generator, with the same parent */
  async #createUnder(set: readonly NodeCreation[]): Promise<NodeCreationResult[]> {
    const { generator_id, attempt, parent } = set[0]!;
    const nodes = set.map(({ node }) => encodeNode(node)) as unknown as NewNodes;
    const children = { nodes, ...(parent === null ? {} : { parent_id: parent }) };
    try {
      const created = await this.#client.work.createChildren(this.#held(generator_id, attempt), children);
      return created.map(({ result, reason = '' }) => {
        return result === 'rejected' ? { result, reason, transient: false } : { result };
      });
    } catch (error) {
      if (refusalOf(error) === 'stale_attempt') return set.map(() => ({ result: 'stale_attempt' }));
      throw error;
    }
  }

  readResults(): Promise<never> {
    return Promise.reject(new Error('a worker without a database reads results by requests of their own'));
  }

  #held(id: string, attempt: number | null): { id: string; attempt: number; holder: string } {
    return { id, attempt: attempt ?? 1, holder: this.#holder };
  }
}

/** The API transports no notices: a task that sends them fails here, and says where it can run. */
function withoutNotices({ task_id, attempt }: Report): Report {
  const reason = 'this worker cannot send notifications: run kinds that send notifications in a server';
  return { task_id, attempt, outcome: 'failed', reason, final: true };
}

/** Splits creations into runs of the same parent, in order. */
function byParent(creations: readonly NodeCreation[]): NodeCreation[][] {
  const sets: NodeCreation[][] = [];
  for (const creation of creations) {
    const last = sets.at(-1);
    if (last !== undefined && last[0]!.parent === creation.parent && last.length < NODES_MAX) last.push(creation);
    else sets.push([creation]);
  }
  return sets;
}

async function inParts<Item, Result>(items: readonly Item[], run: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += CONCURRENT) {
    results.push(...(await Promise.all(items.slice(at, at + CONCURRENT).map(run))));
  }
  return results;
}

/** Returns what the server said to a report. @throws HeddleError if a repeat can help */
function refusalOf(error: unknown): 'not_found' | 'stale_attempt' | 'conflict' {
  const status = error instanceof HeddleApiError ? error.status : 0;
  if (status === 404) return 'not_found';
  if (error instanceof HeddleApiError && ['STALE_ATTEMPT', 'HELD_BY_ANOTHER'].includes(error.code ?? ''))
    return 'stale_attempt';
  if (status === 409) return 'conflict';
  throw isFinal(error) ? error : unavailable(error);
}
