import type { ModelBooks, Models } from '../engine/port.ts';
import type { KindDefinition } from '../kinds/definition/define-kind.ts';
import { ReconPolicy } from '../kinds/recon/policy.ts';
import { mergingKinds, scanningKinds } from '../kinds/recon/recon-kinds.ts';
import type { WatchAttempt } from '../kinds/recon/run-scan.ts';
import type { Clock } from '../runtime/clock.ts';
import { systemRandom } from '../runtime/random.ts';
import { scopeEntries } from './scope-entries.ts';
import type { SettingValues } from './settings.ts';

export interface ReconKindsOptions {
  settings: SettingValues;
  /** Null for a worker without a database: it probes, and cannot merge. */
  models: (ModelBooks & Pick<Models, 'list'>) | null;
  clock: Clock;
  /** How scans learn at once that they are over; null where they are told as other tasks are. */
  watch: WatchAttempt | null;
  /** Domains whose names may be looked up beside those of the scope. */
  followed?: readonly string[];
}

/**
 * The kinds of recon that a process runs: those that probe where the operator has not switched them off, and those that
 * merge where there is a database.
 *
 * @throws ConfigurationError where the operator's scope cannot be read
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
