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

/** Enough to see what goes on; what lasts gets a line a second, and a count. */
const LINES: Rate = { perSecond: 1, burst: 20 };
const SUMMARY_MS = 10_000;

/**
 * Bounds how often lines are written that others can cause at will: of each kind a few at once, then one a second. The others
 * are counted, and the count is written every ten seconds.
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

  /** Writes the line, or counts it. @param kind of a set that callers cannot add to */
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

  /** Writes the counts of what was left out. */
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

/** A logger whose lines are limited, each kind being one message: messages must be constant texts. */
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
