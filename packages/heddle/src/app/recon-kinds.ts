import type { ModelBooks, Models } from '@heddle/core/engine/port';
import type { KindDefinition } from '@heddle/kit';
import { ReconPolicy } from '../kinds/recon/policy.ts';
import { mergingKinds, scanningKinds } from '../kinds/recon/recon-kinds.ts';
import type { WatchAttempt } from '../kinds/recon/run-scan.ts';
import type { Clock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import { scopeEntries } from '@heddle/recon/command/scope-setting';
import type { SettingValues } from './settings.ts';

export interface ReconKindsOptions {
  settings: SettingValues;
  /** Null for a worker without a database: it probes, but cannot merge. */
  models: (ModelBooks & Pick<Models, 'list'>) | null;
  clock: Clock;
  /** Notifies scans at once when they are canceled; null to notify them like other tasks. */
  watch: WatchAttempt | null;
  /** Domains that may be looked up in addition to those of the scope. */
  followed?: readonly string[];
}

/**
 * Returns the recon kinds that a process runs: the probing kinds unless the operator has disabled them, and the merging
 * kinds if there is a database.
 * @throws ConfigurationError if the operator's scope cannot be read
 */
export function reconKinds({ settings, models, clock, watch, followed = [] }: ReconKindsOptions): KindDefinition[] {
  const merging = models === null ? [] : mergingKinds(models);
  if (!settings.reconEnabled) return merging;
  const scope = scopeEntries(settings.reconScope);
  const policy = new ReconPolicy({ scope, followed, rate: settings.reconRate, clock });
  const concurrency = settings.reconConcurrency;
  const options = { policy, models, clock, random: systemRandom, concurrency };
  const watching = watch === null ? {} : { watch };
  return [...scanningKinds({ ...options, ...watching }), ...merging];
}
