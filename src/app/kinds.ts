import { hostname } from 'node:os';

import type { KindDefinition } from '../kinds/definition/define-kind.ts';
import { kindExecutor } from '../dispatch/kind/in-process.ts';
import { LocalWorker } from '../dispatch/local-worker.ts';
import { Switchboard } from '../dispatch/switchboard.ts';
import type { Engine } from '../engine/port.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import type { Random } from '../runtime/random.ts';
import { loadKinds } from './kind-modules.ts';
import type { SettingValues } from './settings.ts';
import type { StopSequence } from './stop-sequence.ts';
import { surviveStrayRejections } from './stray-rejections.ts';

export interface KindsOptions {
  settings: SettingValues;
  engine: Engine;
  clock: Clock;
  random: Random;
  log: Logger;
  stopping: StopSequence;
}

/** Time that handlers have to end when a server stops; a `heddle worker` gives them more. */
const GRACE_MS = 2000;

/** Runs the kinds of the configured modules in this process. */
export async function startKinds(options: KindsOptions): Promise<void> {
  const { kindModules } = options.settings;
  if (kindModules.length === 0) return;
  const kinds = await loadKinds(kindModules, process.cwd());
  surviveStrayRejections(options.log, options.stopping);
  runKinds(kinds, options);
  const names = kinds.map(({ name }) => name);
  options.log.info({ kinds: names }, `This process runs tasks of ${names.length} kinds`);
}

/** One worker for all kinds; those with a concurrency of their own get one each, so that it holds. */
export function runKinds(kinds: readonly KindDefinition[], options: KindsOptions): void {
  const { settings, engine, clock, random, log, stopping } = options;
  const sets = kinds.filter(({ concurrency }) => concurrency !== null).map((kind) => [kind]);
  const others = kinds.filter(({ concurrency }) => concurrency === null);
  if (others.length > 0) sets.unshift(others);
  for (const set of sets) {
    const switchboard = new Switchboard();
    for (const kind of set) switchboard.register(kind.name, kindExecutor(kind, engine));
    const worker = new LocalWorker({
      engine,
      switchboard,
      holder: `${hostname()}/${process.pid}`,
      concurrency: Math.min(set[0]!.concurrency ?? settings.workerConcurrency, settings.workerConcurrency),
      intervalMs: settings.workerLoopIntervalMs,
      leaseMs: settings.workerLeaseSecs * 1000,
      clock,
      random,
      log,
    });
    worker.start();
    stopping.add('the kinds of this process', () => worker.stop(GRACE_MS));
  }
}
