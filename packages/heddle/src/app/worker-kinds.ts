import { createSharedData } from '@heddle/core/engine/data/shared-data';
import { systemClock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { Tracing } from '@heddle/base/trace';
import type { Database } from '@heddle/core/store/database';
import type { KindDefinition } from '@heddle/kit';
import type { TaskControl } from '../dispatch/task-control.ts';
import { conditional } from '../kinds/conditional/conditional.ts';
import { dataKinds } from '../kinds/data/data-kinds.ts';
import { pollAttempts } from './attempt-watch.ts';
import { commandKinds } from './command-kinds.ts';
import { findingsOf } from './findings.ts';
import { selectKinds } from './kind-modules.ts';
import { modelsOf } from './models.ts';
import { reconKinds } from './recon-kinds.ts';
import { openExecutors } from './remote/executors.ts';
import { remoteKinds } from './remote-kinds.ts';
import { workerScanKinds } from './scan-kinds.ts';
import type { SettingValues } from './settings.ts';
import type { StopSequence } from './stop-sequence.ts';

export interface WorkerKindsOptions {
  settings: SettingValues;
  /** The kinds of the configured modules. */
  modules: readonly KindDefinition[];
  /** Kinds to run; if empty, all of the modules, and the built-in ones that may scan. */
  names: readonly string[];
  database: Database | null;
  control: TaskControl | null;
  tracing: Tracing;
  log: Logger;
  stopping: StopSequence;
}

/** A worker scans, probes and sends remote events only if its scope is configured or the kind is named. */
export function workerKinds(options: WorkerKindsOptions): readonly KindDefinition[] {
  const { settings, modules, names, database, control, tracing, log, stopping } = options;
  const books = database === null ? null : findingsOf(database, settings);
  const models = database === null ? null : modelsOf(database, settings);
  const scanning = workerScanKinds({ settings, books, clock: systemClock });
  const watch = control === null ? null : pollAttempts({ control, clock: systemClock, log });
  const probing = reconKinds({ settings, models, clock: systemClock, watch });
  const executors = openExecutors({ settings, clock: systemClock, random: systemRandom, log });
  stopping.add('the executors', async () => executors?.close());
  const remote = remoteKinds({ executors, tracing });
  const running = commandKinds({ settings, jailByDefault: false, clock: systemClock, log, stopping });
  const withOwn = (own: readonly KindDefinition[]): KindDefinition[] => [
    ...modules,
    ...own.filter(({ name }) => modules.every((kind) => kind.name !== name)),
  ];
  // Every server decides conditionals and moves data; a worker does so if the kind is named for it.
  const moving =
    database === null || models === null
      ? []
      : dataKinds({ models, shared: createSharedData({ database }), clock: systemClock });
  if (names.length > 0) {
    return selectKinds(withOwn([...scanning, ...probing, ...remote, ...running, ...moving, conditional()]), names);
  }
  const { scanRoots, reconScope } = settings;
  return withOwn([
    ...(scanRoots.length > 0 ? scanning : []),
    ...(reconScope.length > 0 ? probing : []),
    ...remote,
    ...running,
  ]);
}
