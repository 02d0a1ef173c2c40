import { seededRandom, type Random } from '@heddle/base/random';
import { memoryInUse } from '../transports/healthy-client.ts';
import { fuzzDocument } from './documents.ts';
import { fuzzEnvelope } from './envelopes.ts';
import { fuzzFrame } from './frames.ts';
import { openWires, type Wires } from './wires.ts';

export const TARGETS = ['frames', 'xml', 'envelopes'] as const;
export type Target = (typeof TARGETS)[number];

const CASES: Readonly<Record<Target, (random: Random) => Buffer>> = {
  frames: fuzzFrame,
  xml: fuzzDocument,
  envelopes: fuzzEnvelope,
};

/** Interval of cases that are also sent to a real listener. */
const WIRED_EVERY = 500;
const MEMORY_CHECK_EVERY = 50_000;
const MEMORY_GROWTH_BYTES_MAX = 48 * 1024 * 1024;

export interface FuzzOptions {
  readonly target: Target;
  readonly runs: number;
  /** Seed of the first case, incremented for each further one, so that each can be repeated. */
  readonly seed: number;
  readonly onProgress?: (done: number) => void;
}

/** A failed case, with how to repeat it. */
export class FuzzFailure extends Error {
  constructor(target: Target, seed: number, cause: unknown) {
    super(`${target} failed; repeat it with: npm run fuzz -- --only ${target} --seed ${seed} --runs 1`, { cause });
    this.name = 'FuzzFailure';
  }
}

/** Runs cases in sequence. @throws FuzzFailure */
export async function fuzz({ target, runs, seed, onProgress }: FuzzOptions): Promise<void> {
  await using wires = await openWires();
  using _ = shortStacks(runs);
  const makeCase = CASES[target];
  let baseline: number | null = null;
  for (let index = 0; index < runs; index += 1) {
    const caseSeed = (seed + index) >>> 0;
    try {
      const bytes = makeCase(seededRandom(caseSeed));
      if (index % WIRED_EVERY === 0) await sendTo(wires, target, bytes);
      if (index % MEMORY_CHECK_EVERY === MEMORY_CHECK_EVERY - 1) {
        const memory = memoryInUse();
        baseline ??= memory;
        if (memory > baseline + MEMORY_GROWTH_BYTES_MAX)
          throw new Error(`memory grew from ${baseline} to ${memory} bytes`);
        onProgress?.(index + 1);
      }
    } catch (error) {
      throw new FuzzFailure(target, caseSeed, error);
    }
  }
}

/** Shortens stack traces, which dominate the cost because most cases throw; single cases keep the whole stack. */
function shortStacks(runs: number): Disposable {
  const before = Error.stackTraceLimit;
  if (runs > 1) Error.stackTraceLimit = 1;
  return { [Symbol.dispose]: () => void (Error.stackTraceLimit = before) };
}

async function sendTo(wires: Wires, target: Target, bytes: Buffer): Promise<void> {
  if (target === 'frames') await wires.tcp(bytes);
  if (target === 'xml') await wires.xmlrpc(bytes);
}
