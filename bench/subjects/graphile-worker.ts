import { EventEmitter } from 'node:events';
import pg from 'pg';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import type { Runner, WorkerUtils } from 'graphile-worker';
import { chunks } from '../src/graphs.ts';
import { NoOp, elapsedMs, submitLatencies, until } from '../src/no-op.ts';
import type { Environment, Subject } from '../src/subject.ts';

const SUBMIT_SIZE = 5000;
const PAYLOAD = { tenant: 'a', number: 7 };

/** graphile-worker as its performance page advises for many small jobs: a local queue and batched completion. */
class GraphileWorkerSubject implements Subject {
  readonly #noOp = new NoOp();
  readonly #logger = new Logger(() => () => undefined);
  #connectionString = '';
  #utils!: WorkerUtils;
  #pool!: pg.Pool;

  async prepare(environment: Environment): Promise<void> {
    this.#connectionString = environment.database_url!;
    this.#pool = new pg.Pool({ connectionString: this.#connectionString, max: 1 });
    this.#utils = await makeWorkerUtils({ connectionString: this.#connectionString, logger: this.#logger });
    await this.#utils.migrate();
  }

  async close(): Promise<void> {
    await this.#utils.release();
    await this.#pool.end();
  }

  submit(count: number): Promise<number> {
    const sets = chunks(
      Array.from({ length: count }, () => ({ identifier: 'bench', payload: PAYLOAD })),
      SUBMIT_SIZE,
    );
    return elapsedMs(async () => {
      for (const set of sets) await this.#utils.addJobs(set);
    });
  }

  /** `onOpen` is called when the worker's local queue opens: its first fetch follows at once. */
  #start(onOpen: () => void): Promise<Runner> {
    const events = new EventEmitter();
    events.once('localQueue:init', onOpen);
    return run({
      preset: {
        worker: {
          connectionString: this.#connectionString,
          maxPoolSize: 26,
          concurrentJobs: 24,
          pollInterval: 2000,
          localQueue: { size: 2000 },
          completeJobBatchDelay: 5,
          failJobBatchDelay: 0,
          logger: this.#logger,
          events,
        },
      },
      taskList: { bench: () => this.#noOp.run() },
      parsedCronItems: [],
      noHandleSignals: true,
    });
  }

  /** Until the last job has left its table: a finished job is deleted in a batch, shortly after its handler. */
  async #drained(): Promise<boolean> {
    const { rows } = await this.#pool.query<{ rest: boolean }>(
      'select exists (select from graphile_worker._private_jobs) as rest',
    );
    return !rows[0]!.rest;
  }

  async process(count: number): Promise<number> {
    const handled = this.#noOp.expect(count);
    let startedAt = 0;
    const runner = await this.#start(() => (startedAt = performance.now()));
    await handled;
    await until(() => this.#drained(), 'graphile-worker to finish its jobs');
    const elapsed = performance.now() - startedAt;
    await runner.stop();
    return elapsed;
  }

  async latency(samples: number): Promise<number[]> {
    const runner = await this.#start(() => undefined);
    await this.#warm();
    const latencies = await submitLatencies(this.#noOp, samples, () => this.#utils.addJob('bench', PAYLOAD));
    await runner.stop();
    return latencies;
  }

  /** One job through the running worker, so that its listener and its statements are ready. */
  async #warm(): Promise<void> {
    const handled = this.#noOp.expect(1);
    await this.#utils.addJob('bench', PAYLOAD);
    await handled;
  }
}

export function createSubject(): Subject {
  return new GraphileWorkerSubject();
}
