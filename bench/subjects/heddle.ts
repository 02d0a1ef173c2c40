import { settingsOf } from '@heddle/base/vocabulary/task-fields';
import type { AddressInfo } from 'node:net';
import { keepNewSpaceSmall } from '@heddle/base/new-space';
import { LocalWorker } from 'heddle/internal/dispatch/local-worker';
import { retentionLoop } from 'heddle/internal/dispatch/retention-loop';
import { ExecutorRegistry, type TaskContext } from 'heddle/internal/dispatch/executor-registry';
import type { NewDependency, NewTask, Rule } from '@heddle/base/vocabulary/task';
import { createEngine } from '@heddle/core/engine/engine';
import type { Engine, Submission } from '@heddle/core/engine/port';
import { createAuditLog } from '@heddle/core/engine/audit-log';
import { createFindings } from '@heddle/core/engine/findings/findings';
import { createOverview } from '@heddle/core/engine/overview/overview';
import { createModels } from '@heddle/core/engine/models/models';
import { createRuns } from '@heddle/core/engine/runs/runs';
import { createJobs } from '@heddle/core/engine/schedule/jobs';
import { buildServer } from 'heddle/internal/http/server';
import { PostgresQueue } from '@heddle/core/internal/queue/postgres';
import type { App } from 'heddle/internal/http/server';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import { createMetrics } from '@heddle/core/metrics/metrics';
import { newId, systemRandom } from '@heddle/base/random';
import { createTracer } from '@heddle/base/trace';
import { noAgents, noArtifacts, noSecrets } from '@heddle/test-support/http/unused-parts';
import { openDatabase } from '@heddle/core/store/database';
import type { Database } from '@heddle/core/store/database';
import { SessionStore } from '@heddle/core/store/sessions';
import { TokenStore } from '@heddle/core/store/tokens';
import { DefinitionStore } from '@heddle/core/store/definitions';
import { migrate } from '@heddle/core/store/migrate';
import { chain, chunks } from '../src/graphs.ts';
import { NoOp, chainGaps, elapsedMs, submitLatencies } from '../src/no-op.ts';
import type { Environment, Graph, HttpTarget, RuleOption, Subject, TransportShape, TreeShape } from '../src/subject.ts';
import { copyFinished, type FilledPlace } from './heddle-fill.ts';
import { carryByHeddle, heddleTransportLatency } from './heddle-transport.ts';
import { runTrees } from './heddle-trees.ts';
import { unusedPool } from './unused-pool.ts';

const KIND = 'bench';
const SUBMIT_SIZE = 5000;
const SUBMITS_UNDER_WAY = 2;
const METADATA = { tenant: 'a', number: 7 };
const IDLE_INTERVAL_MS = 1000;
const FILL_SIZE = 10_000;
const RETENTION_ROWS = 5000;

const MATCHER = { kind: KIND, fields: ['tenant'] };
/** Ten times the concurrency, so that no rule ever holds a task back. */
const RULES: Record<RuleOption, readonly Rule[]> = {
  none: [],
  concurrency: [{ type: 'concurrency', matcher: MATCHER, max: 40_000 }],
  capacity: [{ type: 'capacity', matcher: MATCHER, max: 400_000 }],
};

function newTask(dependencies: readonly NewDependency[], rule: RuleOption): NewTask {
  return {
    id: newId(),
    local_id: null,
    name: 'no-op',
    kind: KIND,
    ...settingsOf('batch', { timeout_basis: 'start', ...(rule === 'capacity' ? { expected_count: 10 } : {}) }),
    delay_ms: 0,
    metadata: METADATA,
    actions: [],
    rules: RULES[rule],
    dedupe: [],
    retry: null,
    dependencies,
  };
}

function submission(tasks: readonly NewTask[]): Submission {
  return { workflow_id: newId(), name: null, tasks, traceparent: null, idempotency: null };
}

/** Heddle as `heddle up` runs it: engine, in-process worker and background services in one process. */
class HeddleSubject implements Subject {
  readonly #noOp = new NoOp();
  readonly #metrics = createMetrics();
  #url!: string;
  #database!: Database;
  #engine!: Engine;
  #services: Loop[] = [];
  #lines = 0;
  #server: App | null = null;

  async prepare(environment: Environment): Promise<void> {
    keepNewSpaceSmall();
    const url = environment.database_url!;
    this.#url = url;
    await migrate({ url });
    this.#database = openDatabase({
      url,
      maxSize: 10,
      minIdle: 5,
      acquireRetries: 3,
      acquireTimeoutMs: 30_000,
      slowQueryMs: 60_000,
      clock: systemClock,
      log: silentLogger,
    });
    this.#engine = createEngine({
      database: this.#database,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      metrics: this.#metrics,
    });
    const sweep = async (): Promise<'again' | 'idle'> => ((await this.#engine.sweep()).more ? 'again' : 'idle');
    this.#serve(new Loop({ name: 'sweep', runOnce: sweep, ...this.#loopOptions() }));
  }

  async close(): Promise<void> {
    await this.#server?.close();
    for (const service of this.#services) await service.stop();
    await this.#engine.close();
    await this.#database.close();
  }

  #loopOptions(): { intervalMs: number; clock: typeof systemClock; log: typeof silentLogger } {
    return { intervalMs: IDLE_INTERVAL_MS, clock: systemClock, log: silentLogger };
  }

  #serve(service: Loop): void {
    this.#services.push(service);
    service.start();
  }

  submit(count: number, rule: RuleOption): Promise<number> {
    const waiting = chunks(
      Array.from({ length: count }, () => newTask([], rule)),
      SUBMIT_SIZE,
    ).map(submission);
    return elapsedMs(async () => {
      const submitter = async (): Promise<void> => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await this.#engine.submit([next]);
      };
      await Promise.all(Array.from({ length: SUBMITS_UNDER_WAY }, submitter));
    });
  }

  submitGraphs(graphs: readonly Graph[]): Promise<number> {
    const submissions = graphs.map((graph) =>
      submission(
        graph.map((parents) =>
          newTask(
            parents.map((index) => ({ index, requires_success: true })),
            'none',
          ),
        ),
      ),
    );
    return elapsedMs(() => this.#engine.submit(submissions));
  }

  /** Starts a worker, runs `work`, and stops the worker once everything it ran is reported. */
  async #withWorker(work: (worker: LocalWorker) => Promise<unknown>): Promise<void> {
    const worker = new LocalWorker({
      engine: this.#engine,
      registry: ExecutorRegistry.of({ [KIND]: (_task, context) => this.#run(context) }),
      holder: 'bench',
      ...this.#loopOptions(),
      random: systemRandom,
    });
    worker.start();
    await work(worker);
    await worker.stop(60_000);
  }

  #run(context: TaskContext): void {
    for (let line = 0; line < this.#lines; line += 1) {
      context.output('stdout', `line ${line} of a task that logs as a small command would`);
    }
    this.#noOp.run();
  }

  /** Lines that each task logs. */
  process(count: number, lines = 0): Promise<number> {
    this.#lines = lines;
    const handled = this.#noOp.expect(count);
    return elapsedMs(() => this.#withWorker(() => handled));
  }

  async latency(samples: number): Promise<number[]> {
    let latencies: number[] = [];
    await this.#withWorker(async () => {
      const submitOne = (): Promise<unknown> => this.#engine.submit([submission([newTask([], 'none')])]);
      await submitLatencies(this.#noOp, 1, submitOne);
      latencies = await submitLatencies(this.#noOp, samples, submitOne);
    });
    return latencies;
  }

  async parentToChild(samples: number): Promise<number[]> {
    await this.submitGraphs([chain(samples + 1)]);
    let gaps: number[] = [];
    await this.#withWorker(async () => {
      gaps = await chainGaps(this.#noOp, samples, () => Promise.resolve());
    });
    return gaps;
  }

  runTrees(shape: TreeShape): Promise<number> {
    return runTrees(this.#engine, { ...this.#loopOptions(), random: systemRandom }, shape);
  }

  transport(shape: TransportShape): Promise<number> {
    return carryByHeddle(this.#database, shape);
  }

  transportLatency(samples: number): Promise<number[]> {
    return heddleTransportLatency(this.#database, samples);
  }

  async fillStore(total: number, place: FilledPlace): Promise<void> {
    const count = Math.min(FILL_SIZE, total);
    await this.submit(count, 'none');
    await this.process(count);
    await copyFinished(this.#url, place, total);
    this.#serve(retentionLoop({ engine: this.#engine, limit: RETENTION_ROWS, ...this.#loopOptions() }));
  }

  async listen(running: number): Promise<HttpTarget> {
    const tasks = Array.from({ length: running }, () => newTask([], 'none'));
    await this.#engine.submit([submission(tasks)]);
    await this.#engine.claim({ lanes: [`kind:${KIND}`], limit: running, holder: 'bench' });
    const login = { database: this.#database, clock: systemClock, random: systemRandom };
    this.#server = buildServer({
      engine: this.#engine,
      runs: createRuns(this.#database),
      findings: createFindings({ database: this.#database, newId, keepMs: 1, chunksMs: 1 }),
      models: createModels({ database: this.#database, newId, keepMs: 1 }),
      kinds: {
        list: () => Promise.resolve([]),
        get: () => Promise.resolve(null),
        inputFaults: () => Promise.resolve([]),
      },
      jobs: createJobs({
        database: this.#database,
        queue: { sendIn: () => Promise.resolve() },
        log: silentLogger,
        newId,
        now: () => null,
      }),
      executors: { list: () => [] },
      pool: unusedPool,
      agents: noAgents,
      audit: createAuditLog({ database: this.#database, clock: systemClock, log: silentLogger, retentionMs: 1 }),
      artifacts: noArtifacts,
      namedSecrets: noSecrets,
      overview: createOverview({ database: this.#database, clock: systemClock }),
      queues: new PostgresQueue({ database: this.#database, clock: systemClock, log: silentLogger }),
      // No request of the benches has a token or a handle: on loopback none is needed.
      tokens: new TokenStore(login),
      sessionRepository: new SessionStore({ ...login, idleMs: 1, maxMs: 1 }),
      identityProvider: null,
      secrets: { keys: () => Promise.resolve([]) },
      definitions: new DefinitionStore({ database: this.#database, clock: systemClock }),
      metrics: this.#metrics,
      tracing: await createTracer({ enabled: false, endpoint: null, serviceName: 'heddle-bench', samplingRatio: 1 }),
      log: silentLogger,
      clock: systemClock,
      database: this.#database,
      breaker: { state: 'closed' },
      newId,
      config: {
        hostUrl: 'http://127.0.0.1',
        pagination: { default: 50, max: 100 },
        bodyLimitBytes: 67_108_864,
        authRequired: false,
        metricsPublic: true,
        ssrf: () => null,
        pageDirectory: null,
        version: 'bench',
      },
    });
    await this.#server.listen({ host: '127.0.0.1', port: 0 });
    return { port: (this.#server.server.address() as AddressInfo).port, task_ids: tasks.map(({ id }) => id) };
  }
}

export function createSubject(): Subject {
  return new HeddleSubject();
}
