import { Coalescer } from '../../runtime/coalescer.ts';
import type { Queryable, Statement } from '../database.ts';
import type { RunnerMoment } from './moment.ts';

/** Carries the id of a runner whose orders have changed. */
export const RUNNER_CHANNEL = 'heddle_runner';

/** Told, without words, when requests wait that idle runners may serve; `SETTLED` when requests of holders wait no more. */
export const POOL_CHANNEL = 'heddle_pool';
export const SETTLED = 'settled';

/** A column: whom the functions of this statement would have notified; null: nobody. */
export const TOLD = `nullif(current_setting('heddle.told', true), '') as told`;

/** Stands among the ids of runners for the pool itself. */
const POOL = 'pool';

const NOTIFY: Statement = {
  name: 'runners.notify',
  text: `select pg_notify(u.channel, u.payload) from unnest($1::text[], $2::text[]) u(channel, payload)`,
};

const SET_MAX = 500;
const WAITING_MAX = 10_000;

/** What statements work with that leave it to their caller to notify; `times` says `quiet`. */
export interface QuietMoment extends RunnerMoment {
  readonly tell: (told: string | null) => void;
}

/**
 * Notifies agents and pools in transactions of its own, after those that changed something: transactions that notify
 * commit one at a time, and those of claims are not to wait for each other's fsync. What is lost with this process, or
 * with the database, is learned from the next sign of life.
 */
export class Teller {
  readonly #notices: Coalescer<string, undefined>;

  constructor(database: Queryable) {
    this.#notices = new Coalescer({
      flush: async (told) => {
        const payloads = [...new Set(told.flatMap((each) => each.split(',')))];
        const channels = payloads.map((payload) =>
          payload === POOL || payload === SETTLED ? POOL_CHANNEL : RUNNER_CHANNEL,
        );
        await database.query(NOTIFY, [channels, payloads.map((payload) => (payload === POOL ? '' : payload))]);
        return told.map(() => undefined);
      },
      maxItems: SET_MAX,
      maxWaiting: WAITING_MAX,
      isolate: false,
    });
  }

  readonly tell = (told: string | null): void => {
    if (told !== null) this.#notices.add(told).catch(() => undefined);
  };
}
