import type { ResourceClass } from '../../domain/runner/resource-class.ts';
import type { PoolTimes } from '../../pool/port/store.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Queryable } from '../../store/database.ts';
import { readClasses, readPolicyTimes, setPolicy } from '../../store/runners/policy.ts';
import type { SettingValues } from '../settings.ts';
import { poolPolicyOf } from './policy.ts';

/** The part of the pool's policy that lives in the database: servers write it, every process works by it. */
export interface SharedPolicy {
  readonly classes: readonly ResourceClass[];
  readonly times: SharedTimes;
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
  const { classes, times, max_uses } = poolPolicyOf(settings);
  const { runnerPulseMs: pulse_ms, runnerFarewellMs: farewell_ms, runnerAloneMs: alone_ms } = settings;
  return { classes, times: { ...times, max_uses, pulse_ms, farewell_ms, alone_ms } };
}

/** Writes the policy of a server that launches runners; one that leaves this to others reads theirs. */
export async function settlePolicy(database: Queryable, settings: SettingValues, log: Logger): Promise<SharedPolicy> {
  if (settings.runnerProvider === 'none') return readPolicy(database, settings);
  const policy = sharedPolicyOf(settings);
  const replaced = await setPolicy(database, policy.classes, { ...policy.times }, true);
  if (replaced)
    log.warn({}, 'The HEDDLE_POOL_ settings of this server replace those of the last one, for every process');
  return policy;
}

/** Reads the policy; where no server has written one yet, the settings of this process stand in. */
export async function readPolicy(database: Queryable, settings: SettingValues): Promise<SharedPolicy> {
  const own = sharedPolicyOf(settings);
  const times = await readPolicyTimes(database);
  if (times === null) {
    await setPolicy(database, own.classes, { ...own.times }, false);
    return own;
  }
  return { classes: await readClasses(database), times: { ...own.times, ...times } };
}
