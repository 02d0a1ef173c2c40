import { hostname } from 'node:os';

import { REMOTE_EVENT_KIND } from '../kinds/remote/remote-event.ts';
import { dataKinds } from '../kinds/data/data-kinds.ts';
import { conditional } from '../kinds/conditional/conditional.ts';
import type { KindDefinition } from '@heddle/kit';
import { kindExecutor, type KindTools } from '../dispatch/kind/in-process.ts';
import { LocalWorker, type LocalWorkerOptions } from '../dispatch/local-worker.ts';
import type { TaskControl } from '../dispatch/task-control.ts';
import { ExecutorRegistry } from '../dispatch/executor-registry.ts';
import type { Engine, ModelBooks, Models, Notices, ScanBooks, SharedData } from '@heddle/core/engine/port';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Random } from '@heddle/base/random';
import type { Tracing } from '@heddle/base/trace';
import { commandKinds } from './command-kinds.ts';
import { watchAttempts } from './attempt-watch.ts';
import { loadKinds } from './kind-modules.ts';
import { reconKinds } from './recon-kinds.ts';
import { remoteKinds, type RemoteKindsOptions } from './remote-kinds.ts';
import { serverScanKinds } from './scan-kinds.ts';
import type { ServerKinds } from './server-kinds.ts';
import type { SettingValues } from './settings.ts';
import type { StopSequence } from './stop-sequence.ts';
import { surviveStrayRejections } from './stray-rejections.ts';
import { notificationKinds } from './notification-kinds.ts';

export interface KindsOptions {
  settings: SettingValues;
  engine: Engine;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Records a span of each run; none by default. */
  tracing?: Tracing;
  stopping: StopSequence;
  /** Secrets that inputs name; none by default. */
  secrets?: NonNullable<KindTools['secrets']>;
  /** Files of tasks; none by default. */
  artifacts?: NonNullable<KindTools['artifacts']>;
}

/** Time that handlers get to finish when a server stops; a `heddle worker` gives them more. */
const GRACE_MS = 2000;

export interface ServerKindsOptions extends KindsOptions {
  tracing: Tracing;
  findings: ScanBooks;
  models: ModelBooks & Models;
  notices: Notices;
  shared: SharedData;
  /** Returns why a webhook may not call an address; null if it may. */
  ssrf: (url: string) => string | null;
  /** Whether commands run in a jail although the settings enable nothing. */
  jailByDefault: boolean;
  /** What scans may read; null to use the settings. */
  defaultScanRoot: string | null;
  /** Domains that scans may look up in addition to those of the scope. */
  followedNames: readonly string[];
  /** Executors for tasks of the kind `RemoteEvent`. */
  remote: RemoteKindsOptions;
}

interface StartedKindsOptions extends ServerKindsOptions {
  catalog: ServerKinds;
}

/** Runs the built-in kinds and those of the configured modules in this process; returns their names. */
export async function startKinds({ catalog, ...options }: StartedKindsOptions): Promise<string[]> {
  const kinds = await kindsOfServer(options);
  await catalog.add(kinds);
  runKinds(kinds, options);
  const names = kinds.map(({ name }) => name);
  options.log.info({ kinds: names }, `running tasks of ${kinds.length} kinds`);
  return names;
}

/** The built-in kinds and those of the configured modules, as a server and its runners run them. */
export async function kindsOfServer(options: ServerKindsOptions): Promise<KindDefinition[]> {
  const { settings, engine, clock, log, stopping, findings, models, notices, shared, ssrf } = options;
  const { defaultScanRoot, followedNames, remote } = options;
  const loaded = await loadKinds(settings.kindModules, process.cwd());
  const own = [
    ...serverScanKinds({ settings, books: findings, clock, defaultRoot: defaultScanRoot }),
    ...reconKinds({ settings, models, clock, watch: watchAttempts(engine), followed: followedNames }),
    ...remoteKinds(remote),
    ...notificationKinds({ notices, ssrf }),
    ...dataKinds({ models, shared, clock }),
    ...commandKinds({ settings, jailByDefault: options.jailByDefault, clock, log, stopping }),
    conditional(),
  ];
  const names = new Set(loaded.map(({ name }) => name));
  // A kind of a module replaces a built-in kind of the same name.
  if (loaded.length > 0) surviveStrayRejections(log, stopping);
  return [...loaded, ...own.filter(({ name }) => !names.has(name))];
}

/** Runs kinds in this process until it stops. */
export function runKinds(kinds: readonly KindDefinition[], options: KindsOptions): void {
  for (const worker of startWorkers(kinds, options)) {
    options.stopping.add('the kinds of this process', () => worker.stop(GRACE_MS));
  }
}

export interface WorkersOptions extends Omit<KindTools, 'tracing'> {
  settings: SettingValues;
  engine: LocalWorkerOptions['engine'] & Pick<Engine, 'createNodes' | 'readResults'>;
  control?: TaskControl;
  /** Name in the claims; by default that of this process. */
  holder?: string;
  tracing?: Tracing;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** Starts one worker for all kinds; a kind with its own concurrency gets a separate one, so that its limit applies. */
export function startWorkers(kinds: readonly KindDefinition[], options: WorkersOptions): LocalWorker[] {
  const { settings, engine, control, holder = `${hostname()}/${process.pid}`, clock, random, log } = options;
  const { tracing = null, secrets = null, artifacts = null, results } = options;
  const tools = { tracing, secrets, artifacts, ...(results === undefined ? {} : { results }) };
  const sets = kinds.filter(({ concurrency }) => concurrency !== null).map((kind) => [kind]);
  const others = kinds.filter(({ concurrency }) => concurrency === null);
  if (others.length > 0) sets.unshift(others);
  // The other built-in kinds call no service that could continue a trace.
  const handsTracesOn = settings.kindModules.length > 0 || kinds.some(({ name }) => name === REMOTE_EVENT_KIND);
  return sets.map((set) => {
    const registry = new ExecutorRegistry();
    for (const kind of set) registry.register(kind.name, kindExecutor(kind, engine, tools));
    const worker = new LocalWorker({
      engine,
      registry,
      ...(control === undefined ? {} : { control }),
      holder,
      concurrency: Math.min(set[0]!.concurrency ?? settings.workerConcurrency, settings.workerConcurrency),
      intervalMs: settings.workerLoopIntervalMs,
      leaseMs: settings.workerLeaseSecs * 1000,
      traced: handsTracesOn,
      clock,
      random,
      log,
    });
    worker.start();
    return worker;
  });
}
