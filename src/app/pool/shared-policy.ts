import type { ResourceClass } from '../../domain/runner/resource-class.ts';
import type { ClassTimes } from '../../pool/context.ts';
import type { PoolTimes } from '../../pool/port/store.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Queryable } from '../../store/database.ts';
import { readPolicyRows, setPolicy, type ClassPolicyRow } from '../../store/runners/policy.ts';
import type { SettingValues } from '../settings.ts';
import { poolPolicyOf } from './policy.ts';

/** The part of the pool's policy that lives in the database: servers write it, every process works by it. */
export interface SharedPolicy {
  readonly classes: readonly ResourceClass[];
  /** What holds for all classes, and for those that say nothing else. */
  readonly times: SharedTimes;
  /** By the name of the class. */
  readonly class_times: Readonly<Record<string, Partial<ClassTimes>>>;
}

export interface SharedTimes extends PoolTimes {
  /** Claims after which a runner ends; null: any number. */
  readonly max_uses: number | null;
  /** Between two heartbeats of a runner. */
  readonly pulse_ms: number;
  /** How long after its threshold a runner ends itself that reaches nobody. */
  readonly farewell_ms: number;
  /** How long a runner of a server's machine lives on without the database. */
  readonly alone_ms: number;
}

/** What the settings of one process say. */
export function sharedPolicyOf(settings: SettingValues): SharedPolicy {
  const { classes, times, max_uses, class_times = {} } = poolPolicyOf(settings);
  const { runnerPulseMs: pulse_ms, runnerFarewellMs: farewell_ms, runnerAloneMs: alone_ms } = settings;
  return { classes, times: { ...times, max_uses, pulse_ms, farewell_ms, alone_ms }, class_times };
}

/** Writes the policy of a server that launches runners; one that leaves this to others reads theirs. */
export async function settlePolicy(database: Queryable, settings: SettingValues, log: Logger): Promise<SharedPolicy> {
  if (settings.runnerProvider === 'none') return readPolicy(database, settings);
  const policy = sharedPolicyOf(settings);
  const replaced = await setPolicy(database, rowsOf(policy), true);
  if (replaced)
    log.warn({}, 'The HEDDLE_POOL_ settings of this server replace those of the last one, for every process');
  return policy;
}

/** Reads the policy; where no server has written one yet, the settings of this process stand in. */
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

/** What no class may have of its own is the same in all rows. */
function policyOfRows(rows: readonly ClassPolicyRow[], own: SharedPolicy): SharedPolicy {
  const classes = rows.map(({ name, cpu, memory_mib }) => ({ name, cpu, memory_mib }));
  const times = { ...own.times, ...rows[0]!.times };
  const class_times = Object.fromEntries(rows.map((row) => [row.name, classTimesOf({ ...times, ...row.times })]));
  return { classes, times, class_times };
}

function classTimesOf({ idle_ms, register_ms, confirm_ms, claim_ms, max_uses }: SharedTimes): ClassTimes {
  return { idle_ms, register_ms, confirm_ms, claim_ms, max_uses };
}
