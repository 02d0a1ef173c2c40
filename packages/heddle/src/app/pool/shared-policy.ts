import type { ResourceClass } from '@heddle/base/vocabulary/resource-class';
import type { ClassTimes } from '@heddle/core/pool/context';
import type { PoolTimes } from '@heddle/core/pool/port/store';
import type { Logger } from '@heddle/base/log';
import type { Queryable } from '@heddle/core/store/database';
import { readPolicyRows, setPolicy, type ClassPolicyRow } from '@heddle/core/store/runners/policy';
import type { SettingValues } from '../settings.ts';
import { poolPolicyOf } from './policy.ts';

/** The part of the pool policy that is stored in the database: written by servers, used by every process. */
export interface SharedPolicy {
  readonly classes: readonly ResourceClass[];
  /** Defaults of all classes. */
  readonly times: SharedTimes;
  /** Overrides by class name. */
  readonly class_times: Readonly<Record<string, Partial<ClassTimes>>>;
}

export interface SharedTimes extends PoolTimes {
  /** Number of claims after which a runner ends; null: unlimited. */
  readonly max_uses: number | null;
  /** Heartbeat interval of a runner. */
  readonly heartbeat_ms: number;
  /** Time after its threshold at which a runner without a database ends itself. */
  readonly exit_grace_ms: number;
  /** How long a runner process on a server's machine survives without the database. */
  readonly disconnected_ms: number;
}

/** Returns the policy in the settings of this process. */
export function sharedPolicyOf(settings: SettingValues): SharedPolicy {
  const { classes, times, max_uses, class_times = {} } = poolPolicyOf(settings);
  const {
    runnerHeartbeatMs: heartbeat_ms,
    runnerExitGraceMs: exit_grace_ms,
    runnerDisconnectTimeoutMs: disconnected_ms,
  } = settings;
  return { classes, times: { ...times, max_uses, heartbeat_ms, exit_grace_ms, disconnected_ms }, class_times };
}

/** Writes the policy if this server launches runners; otherwise reads the policy of the others. */
export async function writeOrReadPolicy(
  database: Queryable,
  settings: SettingValues,
  log: Logger,
): Promise<SharedPolicy> {
  if (settings.runnerProvider === 'none') return readPolicy(database, settings);
  const policy = sharedPolicyOf(settings);
  const replaced = await setPolicy(database, rowsOf(policy), true);
  if (replaced) log.warn({}, 'HEDDLE_POOL_ settings of this server replaced the stored ones for all processes');
  return policy;
}

/** Reads the policy, or writes the settings of this process if no server has written one yet. */
export async function readPolicy(database: Queryable, settings: SettingValues): Promise<SharedPolicy> {
  const own = sharedPolicyOf(settings);
  const rows = await readPolicyRows(database);
  if (rows.length > 0) return policyOfRows(rows, own);
  await setPolicy(database, rowsOf(own), false);
  return own;
}

function rowsOf({ classes, times, class_times }: SharedPolicy): ClassPolicyRow[] {
  return classes.map((each) => ({ ...each, times: { ...times, ...class_times[each.name] } }));
}

/** Settings that classes cannot override are equal in all rows. */
function policyOfRows(rows: readonly ClassPolicyRow[], own: SharedPolicy): SharedPolicy {
  const classes = rows.map(({ name, cpu, memory_mib }) => ({ name, cpu, memory_mib }));
  const times = { ...own.times, ...rows[0]!.times };
  const class_times = Object.fromEntries(rows.map((row) => [row.name, classTimesOf({ ...times, ...row.times })]));
  return { classes, times, class_times };
}

function classTimesOf({ idle_ms, register_ms, confirm_ms, claim_ms, max_uses }: SharedTimes): ClassTimes {
  return { idle_ms, register_ms, confirm_ms, claim_ms, max_uses };
}
