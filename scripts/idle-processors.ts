import { cpus } from 'node:os';

interface Sample {
  at_ms: number;
  free_ms: number;
}

/** Prints how many processors were idle recently. */
export class IdleProcessors {
  #last = sample();

  /** Their number since the last call: 0.5 is half a processor. What runs at low priority counts as nothing. */
  sinceLast(): number {
    const now = sample();
    const idle = (now.free_ms - this.#last.free_ms) / Math.max(1, now.at_ms - this.#last.at_ms);
    this.#last = now;
    return idle;
  }
}

function sample(): Sample {
  const free_ms = cpus().reduce((sum, { times }) => sum + times.idle + times.nice, 0);
  return { at_ms: performance.now(), free_ms };
}
