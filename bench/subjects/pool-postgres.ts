import { PostgresBackend } from '@heddle/core/pool/backends/postgres';
import type { Database } from '@heddle/core/store/database';
import { poolCase } from '../src/runner-pool/case-load.ts';
import { claimLoad, handOver } from '../src/runner-pool/claim-load.ts';
import { openPoolDatabase } from '../src/runner-pool/database.ts';
import type { CaseRun, ClaimRequest, ClaimRun, PoolCase } from '../src/runner-pool/requests.ts';
import type { Environment, Subject } from '../src/subject.ts';

class PoolPostgres implements Subject {
  #database: Database | null = null;

  async prepare(environment: Environment): Promise<void> {
    this.#database = await openPoolDatabase(environment);
  }

  runnerClaims(request: ClaimRequest): Promise<ClaimRun> {
    return claimLoad(this.#database!, request);
  }

  runnerHandOver(samples: number): Promise<number[]> {
    return handOver(this.#database!, samples);
  }

  runnerCase(request: PoolCase): Promise<CaseRun> {
    return poolCase(this.#database!, request, (store) => ({
      backend: new PostgresBackend(store),
      settle: () => Promise.resolve(),
    }));
  }

  async close(): Promise<void> {
    await this.#database?.close();
  }
}

export function createSubject(): Subject {
  return new PoolPostgres();
}
