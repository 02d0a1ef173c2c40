import { isLoopbackHost } from '@heddle/base/net/classify';
import { isTokenLive } from '@heddle/core/domain/token';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { Database, Statement } from '@heddle/core/store/database';
import { TokenStore } from '@heddle/core/store/tokens';
import { oldestSnapshot } from '@heddle/core/store/upkeep';
import { fail, ok, warn, type Check } from './check.ts';
import { openSmall, requireReachable } from './database-access.ts';
import { checkSecretKeys } from './doctor-secrets.ts';
import type { RunningDatabase } from './embedded.ts';
import { schemaState } from './schema-state.ts';
import { withoutPassword } from './setting.ts';
import type { SettingValues } from './settings.ts';

const SERVER: Statement = {
  name: 'doctor.server',
  text: `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
    current_setting('max_connections')::int as max_connections, current_setting('fsync') as fsync,
    current_setting('full_page_writes') as full_page_writes, current_setting('synchronous_commit') as synchronous_commit,
    pg_is_in_recovery() as read_only`,
};

const TIME: Statement = { name: 'doctor.time', text: 'select clock_timestamp() as now' };

interface ServerFacts {
  version: string;
  number: number;
  max_connections: number;
  fsync: string;
  full_page_writes: string;
  synchronous_commit: string;
  read_only: boolean;
}

/** The oldest supported PostgreSQL. */
const POSTGRES_MIN = 15;
const SKEW_WARN_MS = 1_000;
const SKEW_FAIL_MS = 60_000;
const SNAPSHOT_WARN_SECS = 60;

/** Checks a database that is expected to answer. Throws if it does not. */
export async function checkDatabase(
  url: string,
  settings: SettingValues,
  running: RunningDatabase | null,
): Promise<Check[]> {
  const database = openSmall(url, silentLogger);
  try {
    await requireReachable(database, url);
    const [facts] = await database.query<ServerFacts>(SERVER);
    const where = running === null ? '' : `, run by process ${running.pid}`;
    const checks = [
      checkServer(facts!, `${withoutPassword(url).split('?')[0] ?? ''}${where}`),
      checkDurability(facts!),
      checkConnections(facts!, settings),
      await checkClock(database),
      await checkSnapshots(database),
      ...checkPooler(database, settings),
    ];
    const schema = await checkSchema(database, settings);
    checks.push(schema);
    if (schema.status === 'ok') {
      checks.push(await checkTokens(database, settings), await checkSecretKeys(settings, database));
    }
    return checks;
  } finally {
    await database.close();
  }
}

function checkServer({ version, number, read_only }: ServerFacts, where: string): Check {
  if (number < POSTGRES_MIN * 10_000) {
    return fail('database', `PostgreSQL ${version} is too old`, `use PostgreSQL ${POSTGRES_MIN} or newer`);
  }
  if (read_only) return fail('database', `${where} is a standby and rejects writes`, 'set DATABASE_URL to the primary');
  return ok('database', `PostgreSQL ${version} at ${where}`);
}

function checkDurability({ fsync, full_page_writes, synchronous_commit }: ServerFacts): Check {
  const name = 'durability';
  if (fsync !== 'on' || full_page_writes !== 'on') {
    return fail(
      name,
      `fsync is ${fsync}, full_page_writes ${full_page_writes}`,
      'turn both on: a power failure would lose data',
    );
  }
  if (synchronous_commit === 'off') {
    return warn(name, 'synchronous_commit is off', 'turn it on: acknowledged writes may be lost in a crash');
  }
  return ok(name, `fsync on, synchronous_commit ${synchronous_commit}`);
}

function checkConnections({ max_connections }: ServerFacts, { poolMaxSize }: SettingValues): Check {
  const name = 'connections';
  // One more for notifications.
  if (poolMaxSize + 1 < max_connections) return ok(name, `${poolMaxSize} of ${max_connections} for this process`);
  return fail(
    name,
    `POOL_MAX_SIZE is ${poolMaxSize}, the database allows ${max_connections}`,
    'lower POOL_MAX_SIZE, or raise max_connections',
  );
}

async function checkClock(database: Database): Promise<Check> {
  const before = systemClock.now();
  const [row] = await database.query<{ now: number }>(TIME);
  const after = systemClock.now();
  // Excludes the round trip from the difference of the clocks.
  const skewMs = row!.now < before ? before - row!.now : Math.max(0, row!.now - after);
  const detail = `${(skewMs / 1000).toFixed(skewMs < 10_000 ? 3 : 0)} s off the database's clock`;
  if (skewMs < SKEW_WARN_MS) return ok('clock', detail);
  const remedy = 'synchronize both machines (NTP): deadlines, tokens and signatures depend on it';
  return skewMs < SKEW_FAIL_MS ? warn('clock', detail, remedy) : fail('clock', detail, remedy);
}

/** Reports nothing if there is no pooler. */
function checkPooler(database: Database, { listenUrl }: SettingValues): Check[] {
  if (database.stats().pooled !== true) return [];
  const name = 'pooler';
  if (listenUrl !== null) return [ok(name, 'pools the sessions; notifications bypass it through HEDDLE_LISTEN_URL')];
  const detail = 'pools the sessions of DATABASE_URL: statements are not prepared, and notifications may be delayed';
  return [warn(name, detail, 'set HEDDLE_LISTEN_URL to an address of the same database that bypasses the pooler')];
}

async function checkSnapshots(database: Database): Promise<Check> {
  const name = 'oldest transaction';
  const oldest = await oldestSnapshot(database);
  if (oldest === null) return ok(name, 'none');
  const detail = `${oldest.holder}, open for ${Math.round(oldest.seconds)} s`;
  if (oldest.seconds < SNAPSHOT_WARN_SECS) return ok(name, detail);
  return warn(
    name,
    `${detail}: dead rows of every table cannot be removed meanwhile, and claims become slow`,
    'end it; select pg_terminate_backend(PID) ends a session',
  );
}

async function checkSchema(database: Database, { databaseUrl }: SettingValues): Promise<Check> {
  const { version, latest, fault } = await schemaState(database);
  if (fault === null) return ok('schema', `version ${version}`);
  if (databaseUrl === null && version < latest) {
    return warn('schema', `version ${version}; this Heddle has ${latest}`, '`heddle up` migrates it at the next start');
  }
  return fail('schema', fault, version > latest ? 'install a newer Heddle' : 'heddle migrate');
}

async function checkTokens(database: Database, { host, requireTokens }: SettingValues): Promise<Check> {
  const name = 'tokens';
  const store = new TokenStore({ database, clock: systemClock, random: systemRandom });
  const now = systemClock.now();
  const live = (await store.list()).filter((token) => isTokenLive(token, now)).length;
  const needed = requireTokens || !isLoopbackHost(host);
  if (needed && live === 0) {
    return fail(name, 'none, and the server requires them', 'heddle token create --name NAME --scope admin');
  }
  return ok(name, `${live} live${needed ? '' : '; not required on loopback'}`);
}
