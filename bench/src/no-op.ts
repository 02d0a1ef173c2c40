import { setTimeout as sleep } from 'node:timers/promises';

/** The handler that every subject runs: it does nothing and records its calls. */
export class NoOp {
  #handled = 0;
  #target = 0;
  #reached: (() => void) | null = null;
  #starts: number[] | null = null;

  run(): void {
    this.#starts?.push(performance.now());
    this.#handled += 1;
    if (this.#handled === this.#target) this.#reached?.();
  }

  /** Resolves when the handler has run `count` more times. Call it before those runs can start. */
  expect(count: number): Promise<void> {
    this.#target = this.#handled + count;
    return new Promise((resolve) => (this.#reached = resolve));
  }

  /** Records when each run starts, from now on. */
  record(): number[] {
    this.#starts = [];
    return this.#starts;
  }

  stopRecording(): void {
    this.#starts = null;
  }
}

/** A notification for everyone waiting at the time. */
export class Wakeups {
  #next = Promise.withResolvers<undefined>();

  /** Take it before checking for work and wait for it if there is none: no notification is missed between. */
  next(): Promise<void> {
    return this.#next.promise;
  }

  wake(): void {
    this.#next.resolve(undefined);
    this.#next = Promise.withResolvers<undefined>();
  }
}

/** Submits one task at a time to an idle system; milliseconds from each submission to its handler's start. */
export async function submitLatencies(
  noOp: NoOp,
  samples: number,
  submitOne: () => Promise<unknown>,
): Promise<number[]> {
  const latencies: number[] = [];
  for (let sample = 0; sample < samples; sample++) {
    // Uneven, so that the submissions do not synchronize with a poller.
    await sleep(5 + ((sample * 7) % 20));
    const starts = noOp.record();
    const handled = noOp.expect(1);
    const submittedAt = performance.now();
    await Promise.all([submitOne(), handled]);
    latencies.push(starts[0]! - submittedAt);
  }
  noOp.stopRecording();
  return latencies;
}

/** Runs a chain of no-op tasks; milliseconds from each start to the next, from parent to child. */
export async function chainGaps(noOp: NoOp, samples: number, runChain: () => Promise<unknown>): Promise<number[]> {
  const starts = noOp.record();
  const handled = noOp.expect(samples + 1);
  await Promise.all([runChain(), handled]);
  noOp.stopRecording();
  return starts.slice(1).map((at, index) => at - starts[index]!);
}

/** Polls every few milliseconds until the answer is yes; fails after a minute. */
export async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited a minute for ${what}`);
    await sleep(2);
  }
}

export async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
