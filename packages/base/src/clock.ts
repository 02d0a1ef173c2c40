import { setImmediate as eventLoopTurn } from 'node:timers/promises';

/** Clock: real in production, virtual in tests. All times and durations are milliseconds. */
export interface Clock {
  /** Since the epoch; may step when the machine's clock is set. */
  now(): number;
  /** From an arbitrary start; never steps back. For durations. */
  monotonic(): number;
  /** Resolves after `ms`, or early (without throwing) when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs `run` once after `ms` and returns a function that cancels it. The timer does not keep the process alive. */
  after(ms: number, run: () => void): () => void;
}

/** Node fires a timer beyond this at once, so longer waits are split. */
const TIMER_MAX_MS = 2 ** 31 - 1;

function startTimer(ms: number, keepsAlive: boolean, run: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = (leftMs: number): void => {
    const partMs = Math.min(leftMs, TIMER_MAX_MS);
    timer = setTimeout(() => {
      if (leftMs > partMs) arm(leftMs - partMs);
      else run();
    }, partMs);
    if (!keepsAlive) timer.unref();
  };
  arm(Math.max(0, ms));
  return () => clearTimeout(timer);
}

function sleepOn(start: (run: () => void) => () => void, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const onAbort = (): void => {
      cancel();
      resolve();
    };
    const cancel = start(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => sleepOn((run) => startTimer(ms, true, run), signal),
  after: (ms, run) => startTimer(ms, false, run),
};

interface VirtualTimer {
  readonly dueAt: number;
  readonly run: () => void;
}

/** Clock that only moves when advanced. */
export class VirtualClock implements Clock {
  readonly #start: number;
  #now: number;
  readonly #timers = new Set<VirtualTimer>();

  /** @param start milliseconds since the epoch */
  constructor(start = 1_700_000_000_000) {
    this.#start = start;
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - this.#start;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn((run) => this.after(ms, run), signal);
  }

  after(ms: number, run: () => void): () => void {
    const timer = { dueAt: this.#now + Math.max(0, ms), run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Number of pending timers. */
  get timers(): number {
    return this.#timers.size;
  }

  /**
   * Moves time forward by `ms`, stopping at every timer on the way in order of time, then of creation. Work started by
   * a timer gets one turn of the event loop before the next timer, so timers that it starts on the way run too.
   */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await eventLoopTurn();
    for (let timer = this.#nextDue(until); timer !== undefined; timer = this.#nextDue(until)) {
      this.#now = Math.max(this.#now, timer.dueAt);
      this.#timers.delete(timer);
      timer.run();
      await eventLoopTurn();
    }
    this.#now = Math.max(this.#now, until);
  }

  #nextDue(until: number): VirtualTimer | undefined {
    let next: VirtualTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueAt <= until && (next === undefined || timer.dueAt < next.dueAt)) next = timer;
    }
    return next;
  }
}
