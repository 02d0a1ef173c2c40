import { writeSync } from 'node:fs';
import nodeModule from 'node:module';
import { setFlagsFromString } from 'node:v8';
import workerThreads from 'node:worker_threads';

import type { Native } from './native.ts';

const STDERR = 2;
const NO_THREADS =
  'worker threads are not available to events in forked processes; set HEDDLE_EXECUTOR_FORK=0 on the executor to start each process by itself';
/** Exit codes of Node for an uncaught exception, and for one in its handler. */
const UNCAUGHT = 1;
const HANDLER_FAILED = 7;
const SEED_MAX = 0x7fff_ffff;
/** Numbers skipped at most, because the seed alone has only 31 bits. */
const SKIPPED_MAX = 4_096;

type FatalException = (thrown: unknown, fromPromise: boolean) => boolean;

/** Parts of the process object that Node does not declare. */
interface ProcessInternals {
  reallyExit: (code?: number) => never;
  _fatalException: FatalException;
}

/** Replaces what cannot work in forked processes, which have one thread of V8. */
export function withoutThreads(): void {
  // Not an arrow function, because Worker is called as a constructor.
  const refuse = function (): never {
    throw new Error(NO_THREADS);
  };
  Object.assign(workerThreads, { Worker: refuse });
  Object.assign(nodeModule, { register: refuse });
  nodeModule.syncBuiltinESMExports();
}

/**
 * Gives a forked process of its own what Node has inherited: event loop, random numbers, process id and exit.
 *
 * @param random draws from the generator of `Math.random`
 */
export function renew(native: Native, loop: unknown, random: () => number): void {
  native.check('forkLoop', loop);
  seedRandom(native, random);
  Object.defineProperty(process, 'pid', { value: 1, enumerable: true, configurable: true, writable: false });
  const internals = process as unknown as ProcessInternals;
  // Otherwise Node would wait for threads that were not forked.
  const exitNow = (code: number): never => native.exitNow(code) as never;
  fix(internals, 'reallyExit', (code) => exitNow(code ?? 0));
  const handle = internals._fatalException.bind(process);
  fix(internals, '_fatalException', (thrown, fromPromise) => {
    try {
      if (handle(thrown, fromPromise)) return true;
    } catch (error) {
      reportUncaught(error);
      return exitNow(HANDLER_FAILED);
    }
    reportUncaught(thrown);
    return exitNow(UNCAUGHT);
  });
  fix(process, 'dlopen', () => {
    throw Object.assign(new Error('Cannot load native addon because loading addons is disabled.'), {
      code: 'ERR_DLOPEN_DISABLED',
    });
  });
}

function fix<T extends object, K extends keyof T>(target: T, name: K, value: T[K]): void {
  Object.defineProperty(target, name, { value, enumerable: false, configurable: false, writable: false });
}

function reportUncaught(thrown: unknown): void {
  let text: string;
  try {
    text = thrown instanceof Error ? String(thrown.stack) : `Uncaught ${String(thrown)}`;
  } catch {
    text = 'Uncaught';
  }
  writeSync(STDERR, `${text}\n`);
}

/** `Math.random` starts from the same state in all forked processes otherwise; V8 seeds it at its first use. */
function seedRandom({ check }: Native, random: () => number): void {
  const seed = Buffer.alloc(8);
  check('getrandom', seed, seed.length, 0);
  setFlagsFromString(`--random-seed=${seed.readUInt32LE(0) & SEED_MAX || 1}`);
  for (let skipped = seed.readUInt32LE(4) % SKIPPED_MAX; skipped >= 0; skipped -= 1) random();
}
