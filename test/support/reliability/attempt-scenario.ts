import { kindExecutor } from 'heddle/internal/dispatch/kind/in-process';
import { ExecutorRegistry } from 'heddle/internal/dispatch/executor-registry';
import { LocalWorker } from 'heddle/internal/dispatch/local-worker';
import { blobStoreOf } from 'heddle/internal/app/artifacts/open';
import type { Clock } from '@heddle/base/clock';
import { Keyring } from '@heddle/base/keyring';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { createArtifacts } from '@heddle/core/engine/artifacts/artifacts';
import { createAuditLog } from '@heddle/core/engine/audit-log';
import { createEngine } from '@heddle/core/engine/engine';
import type { Artifacts, BlobStore, Engine } from '@heddle/core/engine/port';
import { createNamedSecrets } from '@heddle/core/engine/secrets/named-secrets';
import type { Database } from '@heddle/core/store/database';
import { defineKind, type KindDefinition } from '@heddle/kit';
import { eventually } from '@heddle/test-support/eventually';
import { newTask } from './crash-scenario.ts';

export const LINES = 60;
export const SECRET = 'the value of the secret';
const LEASE_MS = 60_000;
const HOUR_MS = 3_600_000;
const ATTEMPTS_MAX = 20;

/** What an attempt leaves, by name: one replaces an earlier content, and two have the same one. */
export const CONTENTS: Readonly<Record<string, string>> = { 'a.txt': 'second', 'b.txt': 'second' };

/** What the server confirmed to the process before it died. */
export type AttemptLine =
  | { event: 'submitted'; task_id: string }
  | { event: 'logged'; attempt: number; lines: number }
  | { event: 'stored'; attempt: number; name: string; sha256: string }
  | { event: 'ended'; task_id: string };

/** Settings of the store of contents. */
export interface StorePlace {
  artifactsDir: string;
  artifactsS3: string;
}

export interface AttemptParts {
  database: Database;
  clock: Clock;
  store: StorePlace;
  note: (line: AttemptLine) => void;
  /** Called with what reports the end of an attempt. */
  aroundReport?: <T>(report: () => Promise<T>) => Promise<T>;
}

/** One process: a server with a worker for the scenario's kind, and what it stores contents in. */
export class AttemptWorld {
  readonly engine: Engine;
  readonly blobs: BlobStore;
  readonly #parts: AttemptParts;
  readonly #run: string;

  constructor(run: string, parts: AttemptParts) {
    const { database, clock, store } = parts;
    this.#run = run;
    this.#parts = parts;
    this.engine = createEngine({ database, clock, random: systemRandom, log: silentLogger });
    this.blobs = blobStoreOf({ ...store, dataDir: store.artifactsDir }, { clock, log: silentLogger });
  }

  /** Artifacts whose clock is ahead. */
  artifacts(aheadMs = 0): Artifacts {
    const { database, clock } = this.#parts;
    const ahead = { ...clock, now: () => clock.now() + aheadMs };
    return createArtifacts({ database, blobs: this.blobs, clock: ahead, newId, bytesMax: 1_000_000, countMax: 10 });
  }

  /** Plays the scenario from wherever an earlier process got to; resolves when its task has ended and all is swept. */
  async play(): Promise<string> {
    const { database, clock, note } = this.#parts;
    const log = silentLogger;
    const audit = createAuditLog({ database, clock, log, retentionMs: 24 * HOUR_MS });
    const keyring = new Keyring([Buffer.alloc(32, 7)]);
    const secrets = createNamedSecrets({ database, clock, audit, keyring: () => Promise.resolve(keyring) });
    await secrets.set(this.#secretName, SECRET, [this.#kind]);
    const artifacts = this.artifacts();
    const noting: Artifacts = Object.assign(Object.create(artifacts) as Artifacts, {
      put: async (...given: Parameters<Artifacts['put']>) => {
        const stored = await artifacts.put(...given);
        const { attempt, name, sha256 } = stored;
        note({ event: 'stored', attempt, name, sha256 });
        return stored;
      },
    });
    const executor = kindExecutor(this.#definition(), this.engine, { secrets, artifacts: noting });
    const worker = new LocalWorker({
      engine: this.#notingEngine(),
      registry: ExecutorRegistry.of({ [this.#kind]: executor }),
      holder: `attempt-${process.pid}`,
      intervalMs: 20,
      leaseMs: LEASE_MS,
      clock,
      random: systemRandom,
      log,
    });
    worker.start();
    try {
      const id = await this.#submit();
      await eventually(async () => {
        await this.engine.sweep();
        return typeof (await this.engine.getTask(id))?.ended_at === 'number';
      }, 'the task has ended');
      note({ event: 'ended', task_id: id });
      await this.artifacts(2 * HOUR_MS).retain(1_000);
      return id;
    } finally {
      await worker.stop(0);
    }
  }

  async #submit(): Promise<string> {
    const retry = { max_attempts: ATTEMPTS_MAX, base_ms: 5, factor: 1, max_ms: 5, jitter: 0 };
    const metadata = { secret: { secret: this.#secretName } };
    const task = newTask(this.#kind, 'attempt', { starts: false, timeout_secs: 3_600, retry, metadata });
    const idempotency = { key: `attempt-${this.#run}`, body_hash: 'attempt' };
    const submission = {
      workflow_id: newId(),
      name: `attempt ${this.#run}`,
      tasks: [task],
      traceparent: null,
      idempotency,
    };
    const [result] = await this.engine.submit([submission]);
    const { id } = result!.tasks[0]!;
    this.#parts.note({ event: 'submitted', task_id: id });
    return id;
  }

  #definition(): KindDefinition {
    const { clock } = this.#parts;
    return defineKind({
      name: this.#kind,
      async run({ secret }, { output, artifacts }) {
        for (let line = 1; line <= LINES / 2; line += 1) output('stdout', `line ${line}`);
        // Longer than lines wait, so that some are stored while it runs.
        await clock.sleep(700);
        await artifacts.put('a.txt', 'first');
        await artifacts.put('a.txt', 'second');
        await artifacts.put('b.txt', 'second');
        for (let line = LINES / 2 + 1; line <= LINES; line += 1) output('stdout', `line ${line}`);
        return { secret_chars: JSON.stringify(secret).length };
      },
    });
  }

  #notingEngine(): Engine {
    const { note, aroundReport = (report) => report() } = this.#parts;
    const { engine } = this;
    return {
      ...engine,
      report: (...given) => aroundReport(() => engine.report(...given)),
      reportAndClaim: (...given) => aroundReport(() => engine.reportAndClaim(...given)),
      appendLogs: async (...[chunks]: Parameters<Engine['appendLogs']>) => {
        await engine.appendLogs(chunks);
        for (const { attempt, first_line: first, lines } of chunks) {
          note({ event: 'logged', attempt, lines: first + lines });
        }
      },
    };
  }

  get #kind(): string {
    return `attempt-${this.#run}`;
  }

  get #secretName(): string {
    return `SECRET_${this.#run.toUpperCase()}`;
  }
}
