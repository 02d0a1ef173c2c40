import { startFauxqs, type FauxqsServer } from 'fauxqs';

import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import { SqsClassicBackend } from '@heddle/core/pool/backends/sqs-classic';
import { SqsShardedBackend } from '@heddle/core/pool/backends/sqs-sharded';
import { PostgresTypes } from '@heddle/core/pool/store/postgres-launches';
import type { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import type { PoolBackend } from '@heddle/core/pool/port/backend';
import { openQueue } from '@heddle/core/queue/open';
import type { MessageQueue } from '@heddle/core/queue/port';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import type { Database } from '@heddle/core/store/database';
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
