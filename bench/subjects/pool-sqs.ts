import { startFauxqs, type FauxqsServer } from 'fauxqs';

import { DEFAULT_RESOURCE_CLASSES } from '../../src/domain/runner/resource-class.ts';
import { SqsClassicBackend } from '../../src/pool/backends/sqs-classic.ts';
import { SqsShardedBackend } from '../../src/pool/backends/sqs-sharded.ts';
import { PostgresTypes } from '../../src/pool/store/postgres-launches.ts';
import type { PostgresRunnerStore } from '../../src/pool/store/postgres.ts';
import type { PoolBackend } from '../../src/pool/port/backend.ts';
import { openQueue } from '../../src/queue/open.ts';
import type { MessageQueue } from '../../src/queue/port.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/log.ts';
import type { Database } from '../../src/store/database.ts';
import { poolCase } from '../src/runner-pool/case-load.ts';
import { openPoolDatabase } from '../src/runner-pool/database.ts';
import type { CaseRun, PoolCase } from '../src/runner-pool/requests.ts';
import type { Environment, Subject } from '../src/subject.ts';

/** Longer than a runner that was just offered stays hidden. */
const SETTLE_MS = 4_000;

class PoolSqs implements Subject {
  readonly #sharded: boolean;
  #database: Database | null = null;
  #service: FauxqsServer | null = null;

  constructor(sharded: boolean) {
    this.#sharded = sharded;
  }

  async prepare(environment: Environment): Promise<void> {
    process.env['AWS_ACCESS_KEY_ID'] ??= 'bench';
    process.env['AWS_SECRET_ACCESS_KEY'] ??= 'bench';
    this.#database = await openPoolDatabase(environment);
    this.#service = await startFauxqs({ port: 0, logger: false });
  }

  async runnerCase(request: PoolCase): Promise<CaseRun> {
    // Separate queues for every case, free of earlier messages.
    const prefix = `bench-${Date.now().toString(36)}`;
    const endpoint = this.#service!.address;
    const url = `sqs://us-east-1/000000000000/${prefix}?endpoint=${encodeURIComponent(endpoint)}&create=1`;
    const { queue } = await openQueue({ url, database: null, clock: systemClock, log: silentLogger });
    try {
      return await poolCase(this.#database!, request, (store) => ({
        backend: this.#backend(store, queue),
        settle: () => systemClock.sleep(SETTLE_MS),
      }));
    } finally {
      await queue.close();
    }
  }

  #backend(store: PostgresRunnerStore, queue: MessageQueue): PoolBackend {
    const options = { store, queue, classes: DEFAULT_RESOURCE_CLASSES, clock: systemClock, log: silentLogger };
    if (!this.#sharded) return new SqsClassicBackend(options);
    return new SqsShardedBackend({ ...options, types: new PostgresTypes(this.#database!) });
  }

  async close(): Promise<void> {
    await this.#database?.close();
    await this.#service?.stop();
  }
}

export function createSubject(): Subject {
  return new PoolSqs(process.argv[2] === 'pool-sqs-sharded');
}
