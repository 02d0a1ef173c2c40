import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import type { Database } from '../../../src/store/database.ts';
import { Listener } from '../../../src/store/listener.ts';
import { eventually } from '@heddle/test-support/eventually';

export interface PollingListener {
  readonly listener: Listener;
  /** Looks at the database, and payloads that were heard, so far. */
  readonly looks: number;
  readonly heard: number;
  /** Waits for one look and its answer; resolves with how long it was waited for, in milliseconds of the clock. */
  look(): Promise<number>;
  close(): Promise<void>;
}

/** A listener behind a pooler that keeps notifications back, on a clock that only `look` moves on. */
export async function listenByPolling(url: string, database: Database): Promise<PollingListener> {
  const clock = new VirtualClock();
  let looks = 0;
  let heard = 0;
  const listener = new Listener({
    url,
    connectTimeoutMs: 10_000,
    clock,
    log: silentLogger,
    query: (statement, values) => {
      if (statement.name === 'listener.snapshot') looks += 1;
      return database.query(statement, values);
    },
  });
  const listening = listener.listen('work', () => (heard += 1));
  // It first tests whether a notification of its own arrives.
  await eventually(() => clock.timers > 0, 'the test of notifications');
  await clock.advance(2_000);
  const unlisten = await listening;
  return {
    listener,
    get looks() {
      return looks;
    },
    get heard() {
      return heard;
    },
    look: async () => {
      await eventually(() => clock.timers > 0, 'the wait for the next look');
      const [before, from] = [looks, clock.now()];
      while (looks === before) await clock.advance(5);
      await eventually(() => clock.timers > 0, 'the answer of the look');
      return clock.now() - from;
    },
    close: async () => {
      await unlisten();
      const closing = listener.close();
      await clock.advance(1_000);
      await closing;
    },
  };
}
