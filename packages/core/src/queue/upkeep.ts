import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { Random } from '@heddle/base/random';
import type { Database } from '../store/database.ts';
import { forgetDeadLetters } from '../store/queue-messages.ts';
import { forgetBodies } from '../store/queue-outbox.ts';

export interface QueueUpkeepOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  random: Random;
  /** Age at which dead letters are deleted; 14 days by default, as at SQS. */
  deadAfterMs?: number;
}

const DAY_MS = 86_400_000;
const INTERVAL_MS = 600_000;
const DEAD_AFTER_MS = 14 * DAY_MS;
/** Maximum retention at SQS, after which no message refers to these any more. */
const BODY_AFTER_MS = 15 * DAY_MS;
const ROWS_A_PASS = 1_000;

/** Deletes old dead letters, and bodies of messages that SQS has deleted. */
export class QueueUpkeep {
  readonly #options: QueueUpkeepOptions;
  readonly #loop: Loop;

  constructor(options: QueueUpkeepOptions) {
    this.#options = options;
    const { clock, log, random } = options;
    // Jitter, so that servers started together do not sweep together.
    const intervalMs = INTERVAL_MS * (0.75 + random.next() / 2);
    this.#loop = new Loop({ name: 'queue-upkeep', intervalMs, clock, log, runOnce: () => this.runOnce() });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async runOnce(): Promise<'again' | 'idle'> {
    const { database, deadAfterMs = DEAD_AFTER_MS } = this.#options;
    const dead = await forgetDeadLetters(database, deadAfterMs, ROWS_A_PASS, null);
    const bodies = await forgetBodies(database, BODY_AFTER_MS, ROWS_A_PASS);
    return Math.max(dead, bodies) === ROWS_A_PASS ? 'again' : 'idle';
  }
}
