import { seededRandom, type Random } from '../../../src/runtime/random.ts';
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

/** One case in so many is also sent to a real listener. */
const WIRED_EVERY = 500;
const MEMORY_CHECK_EVERY = 50_000;
const MEMORY_GROWTH_BYTES_MAX = 48 * 1024 * 1024;

export interface FuzzOptions {
  readonly target: Target;
  readonly runs: number;
  /** Of the first case; each further one counts up, so that a single one can be repeated. */
  readonly seed: number;
  readonly onProgress?: (done: number) => void;
}

/** A case that went wrong, named so that it can be repeated. */
export class FuzzFailure extends Error {
  constructor(target: Target, seed: number, cause: unknown) {
    super(`${target} failed; repeat it by: npm run fuzz -- --only ${target} --seed ${seed} --runs 1`, { cause });
    this.name = 'FuzzFailure';
  }
}

/** Runs cases one after the other. @throws FuzzFailure */
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

/** Most cases throw, and where from is what that costs; of a single case the whole stack is wanted. */
function shortStacks(runs: number): Disposable {
  const before = Error.stackTraceLimit;
  if (runs > 1) Error.stackTraceLimit = 1;
  return { [Symbol.dispose]: () => void (Error.stackTraceLimit = before) };
}

async function sendTo(wires: Wires, target: Target, bytes: Buffer): Promise<void> {
  if (target === 'frames') await wires.tcp(bytes);
  if (target === 'xml') await wires.xmlrpc(bytes);
}
