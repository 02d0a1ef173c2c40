import { systemClock } from '../../../src/runtime/clock.ts';
import { silentLogger } from '../../../src/runtime/log.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { openDatabase, type Database } from '../../../src/store/database.ts';
import { migrate } from '../../../src/store/migrate.ts';
import type { Environment } from '../subject.ts';

const CONNECTIONS = 16;

export async function openPoolDatabase({ database_url: url }: Environment): Promise<Database> {
  await migrate({ url: url! });
  return openDatabase({
    url: url!,
    maxSize: CONNECTIONS,
    minIdle: CONNECTIONS,
    acquireRetries: 3,
    acquireTimeoutMs: 30_000,
    slowQueryMs: 60_000,
    clock: systemClock,
    log: silentLogger,
    random: systemRandom,
  });
}
