import { createSharedData } from '@heddle/core/engine/data/shared-data';
import { isDatabaseKind } from '@heddle/core/domain/built-in-kinds';
import { systemClock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import type { Tracing } from '@heddle/base/trace';
import type { Database } from '@heddle/core/store/database';
import type { KindDefinition } from '@heddle/kit';
import type { TaskControl } from '../dispatch/task-control.ts';
import type { WatchAttempt } from '../kinds/recon/run-scan.ts';
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

export interface RunnerKindsOptions {
  settings: SettingValues;
  /** The kinds of the configured modules. */
  modules: readonly KindDefinition[];
  tracing: Tracing;
  log: Logger;
  stopping: StopSequence;
}

export interface WorkerKindsOptions extends RunnerKindsOptions {
  /** Kinds to run; if empty, all of the modules, and the built-in ones that may scan. */
  names: readonly string[];
  database: Database | null;
  control: TaskControl | null;
}

/** A worker scans, probes and sends remote events only if its scope is configured or the kind is named. */
export function workerKinds(options: WorkerKindsOptions): readonly KindDefinition[] {
  const { settings, names, database, control, log } = options;
  const watch = control === null ? null : pollAttempts({ control, clock: systemClock, log });
  const { scanning, probing, remote, running, moving } = ownKinds(options, database, watch);
  if (names.length > 0) {
    const own = [...scanning, ...probing, ...remote, ...running, ...moving, conditional()];
    const offered = withOwn(options, own);
    requireDatabaseFor(names, offered);
    return selectKinds(offered, names);
  }
  const { scanRoots, reconScope } = settings;
  return withOwn(options, [
    ...(scanRoots.length > 0 ? scanning : []),
    ...(reconScope.length > 0 ? probing : []),
    ...remote,
    ...running,
  ]);
}

/** A runner runs all kinds that need no database: its task has nowhere else to go. */
export function runnerKinds(options: RunnerKindsOptions): readonly KindDefinition[] {
  const { scanning, probing, remote, running } = ownKinds(options, null, null);
  return withOwn(options, [...scanning, ...probing, ...remote, ...running, conditional()]);
}

type OwnKinds = Record<'scanning' | 'probing' | 'remote' | 'running' | 'moving', KindDefinition[]>;

function ownKinds(
  { settings, tracing, log, stopping }: RunnerKindsOptions,
  database: Database | null,
  watch: WatchAttempt | null,
): OwnKinds {
  const common = { settings, clock: systemClock };
  const models = database === null ? null : modelsOf(database, settings);
  const executors = openExecutors({ ...common, random: systemRandom, log });
  stopping.add('the executors', async () => executors?.close());
  return {
    scanning: workerScanKinds({ ...common, books: database === null ? null : findingsOf(database, settings) }),
    probing: reconKinds({ ...common, models, watch }),
    remote: remoteKinds({ executors, tracing }),
    running: commandKinds({ ...common, jailByDefault: false, log, stopping }),
    // Every server moves data; a worker does so if the kind is named for it.
    moving:
      database === null || models === null
        ? []
        : dataKinds({ models, shared: createSharedData({ database }), clock: systemClock }),
  };
}

function withOwn({ modules }: RunnerKindsOptions, own: readonly KindDefinition[]): KindDefinition[] {
  return [...modules, ...own.filter(({ name }) => modules.every((kind) => kind.name !== name))];
}

const NEEDS_DATABASE =
  'needs a database, which this worker does not have: leave it to the servers, which run it, or set DATABASE_URL';

/** @throws ConfigurationError that lists the named kinds that need a database, which this worker does not have */
function requireDatabaseFor(names: readonly string[], offered: readonly KindDefinition[]): void {
  const missing = names.filter((name) => isDatabaseKind(name) && offered.every((kind) => kind.name !== name));
  if (missing.length === 0) return;
  throw new ConfigurationError(missing.map((name) => `--kind ${name}: ${NEEDS_DATABASE}`));
}
