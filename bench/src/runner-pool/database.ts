import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { openDatabase, type Database } from '@heddle/core/store/database';
import { migrate } from '@heddle/core/store/migrate';
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
