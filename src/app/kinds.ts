import { hostname } from 'node:os';

import { REMOTE_EVENT_KIND } from '../kinds/remote/remote-event.ts';
import { dataKinds } from '../kinds/data/data-kinds.ts';
import { conditional } from '../kinds/conditional/conditional.ts';
import type { KindDefinition } from '../kinds/definition/define-kind.ts';
import { kindExecutor } from '../dispatch/kind/in-process.ts';
import { LocalWorker } from '../dispatch/local-worker.ts';
import { Switchboard } from '../dispatch/switchboard.ts';
import type { Engine, ModelBooks, Models, Notices, ScanBooks, SharedData } from '../engine/port.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import type { Random } from '../runtime/random.ts';
import type { Tracing } from '../runtime/trace.ts';
import { watchAttempts } from './attempt-watch.ts';
import { loadKinds } from './kind-modules.ts';
import { reconKinds } from './recon-kinds.ts';
import { remoteKinds, type RemoteKindsOptions } from './remote-kinds.ts';
import { serverScanKinds } from './scan-kinds.ts';
import type { SettingValues } from './settings.ts';
import type { StopSequence } from './stop-sequence.ts';
import { surviveStrayRejections } from './stray-rejections.ts';
import { tellingKinds } from './telling-kinds.ts';

export interface KindsOptions {
  settings: SettingValues;
  engine: Engine;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Records a span of each run; none by default. */
  tracing?: Tracing;
  stopping: StopSequence;
}

/** Time that handlers have to end when a server stops; a `heddle worker` gives them more. */
const GRACE_MS = 2000;

export interface ServerKindsOptions extends KindsOptions {
  tracing: Tracing;
  findings: ScanBooks;
  models: ModelBooks & Models;
  notices: Notices;
  shared: SharedData;
  /** What is wrong with an address that a webhook is to go to; null where nothing is. */
  ssrf: (url: string) => string | null;
  /** What scans may read; null where it is what the settings say. */
  defaultScanRoot: string | null;
  /** Domains whose names scans may look up beside those of the scope. */
  followedNames: readonly string[];
  /** Where tasks of the kind `RemoteEvent` go. */
  remote: RemoteKindsOptions;
}

/** Runs Heddle's own kinds and those of the configured modules in this process. */
export async function startKinds(options: ServerKindsOptions): Promise<void> {
  const kinds = await kindsOfServer(options);
  runKinds(kinds, options);
  options.log.info({ kinds: kinds.map(({ name }) => name) }, `This process runs tasks of ${kinds.length} kinds`);
}

/** Heddle's own kinds and those of the configured modules, as a server and its runners run them. */
export async function kindsOfServer(options: ServerKindsOptions): Promise<KindDefinition[]> {
  const { settings, engine, clock, log, stopping, findings, models, notices, shared, ssrf } = options;
  const { defaultScanRoot, followedNames, remote } = options;
  const loaded = await loadKinds(settings.kindModules, process.cwd());
  const own = [
    ...serverScanKinds({ settings, books: findings, clock, defaultRoot: defaultScanRoot }),
    ...reconKinds({ settings, models, clock, watch: watchAttempts(engine), followed: followedNames }),
    ...remoteKinds(remote),
    ...tellingKinds({ notices, ssrf }),
    ...dataKinds({ models, shared, clock }),
    conditional(),
  ];
  const names = new Set(loaded.map(({ name }) => name));
  // A module's kind takes the place of Heddle's own.
  if (loaded.length > 0) surviveStrayRejections(log, stopping);
  return [...loaded, ...own.filter(({ name }) => !names.has(name))];
}

/** One worker for all kinds; those with a concurrency of their own get one each, so that it holds. */
export function runKinds(kinds: readonly KindDefinition[], options: KindsOptions): void {
  const { settings, engine, clock, random, log, tracing, stopping } = options;
  const sets = kinds.filter(({ concurrency }) => concurrency !== null).map((kind) => [kind]);
  const others = kinds.filter(({ concurrency }) => concurrency === null);
  if (others.length > 0) sets.unshift(others);
  // Heddle's other kinds call nobody that would go on with a trace.
  const handsTracesOn = settings.kindModules.length > 0 || kinds.some(({ name }) => name === REMOTE_EVENT_KIND);
  for (const set of sets) {
    const switchboard = new Switchboard();
    for (const kind of set) switchboard.register(kind.name, kindExecutor(kind, engine, tracing));
    const worker = new LocalWorker({
      engine,
      switchboard,
      holder: `${hostname()}/${process.pid}`,
      concurrency: Math.min(set[0]!.concurrency ?? settings.workerConcurrency, settings.workerConcurrency),
      intervalMs: settings.workerLoopIntervalMs,
      leaseMs: settings.workerLeaseSecs * 1000,
      traced: handsTracesOn,
      clock,
      random,
      log,
    });
    worker.start();
    stopping.add('the kinds of this process', () => worker.stop(GRACE_MS));
  }
}
