import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import { type Rate, RateBuckets } from './rate-buckets.ts';

type Level = 'debug' | 'info' | 'warn' | 'error';

interface Suppressed {
  readonly log: Logger;
  readonly level: Level;
  readonly sinceMs: number;
  count: number;
}

/** A few lines show what happens; a persistent condition gets a line a second, and a count. */
const LINES: Rate = { perSecond: 1, burst: 20 };
const SUMMARY_MS = 10_000;

/**
 * Limits lines that clients can trigger at will: of each kind a few at once, then one per second. The others are
 * counted, and the count is logged every ten seconds.
 */
export class LogLimit {
  readonly #clock: Clock;
  readonly #rates: RateBuckets;
  readonly #suppressed = new Map<string, Suppressed>();
  #cancel: (() => void) | null = null;

  constructor(clock: Clock, rate = LINES) {
    this.#clock = clock;
    this.#rates = new RateBuckets(rate);
  }

  /** Writes the line, or counts it. @param kind from a fixed set */
  write(log: Logger, level: Level, kind: string, fields: object, message: string): void {
    const nowMs = this.#clock.monotonic();
    if (this.#rates.take(kind, nowMs) === 0) {
      log[level](fields, message);
      return;
    }
    const suppressed = this.#suppressed.get(kind) ?? { log, level, sinceMs: nowMs, count: 0 };
    suppressed.count += 1;
    this.#suppressed.set(kind, suppressed);
    this.#cancel ??= this.#clock.after(SUMMARY_MS, () => this.flush());
  }

  /** Writes the counts of suppressed lines. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    const nowMs = this.#clock.monotonic();
    for (const [kind, { log, level, sinceMs, count }] of this.#suppressed) {
      const seconds = Math.max(1, Math.round((nowMs - sinceMs) / 1000));
      const fields = { event: 'lines_suppressed', kind, count, seconds };
      log[level](fields, `${count} more like this in the last ${seconds} s: ${kind}`);
    }
    this.#suppressed.clear();
  }
}

/** Returns a logger with limited lines, one kind per message: messages must be constant strings. */
export function limitedLogger(log: Logger, limit: LogLimit): Logger {
  const write =
    (level: Level) =>
    (fields: object, message: string): void =>
      limit.write(log, level, message, fields, message);
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => limitedLogger(log.child(fields), limit),
  };
}
