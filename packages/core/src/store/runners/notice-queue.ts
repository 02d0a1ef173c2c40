import { Coalescer } from '@heddle/base/coalescer';
import type { Queryable, Statement } from '../database.ts';
import type { StatementContext } from './moment.ts';

/** The payload is the ID of a runner whose orders changed. */
export const RUNNER_CHANNEL = 'heddle_runner';

/** Empty payload: idle runners may be able to serve waiting requests. `SETTLED`: holds no longer wait. */
export const POOL_CHANNEL = 'heddle_pool';
export const SETTLED = 'settled';

/** A column with the notifications that the functions of this statement deferred; null: none. */
export const NOTICES_COLUMN = `nullif(current_setting('heddle.pending_notices', true), '') as notices`;

/** Represents the pool itself among the runner IDs. */
const POOL = 'pool';

const NOTIFY: Statement = {
  name: 'runners.notify',
  text: `select pg_notify(u.channel, u.payload) from unnest($1::text[], $2::text[]) u(channel, payload)`,
};

const SET_MAX = 500;
const WAITING_MAX = 10_000;

/** Context of statements whose caller sends the notifications; `times` contains `quiet`. */
export interface QueuedNoticeContext extends StatementContext {
  readonly notify: (notices: string | null) => void;
}

/**
 * Notifies agents and pools in separate transactions after the change. Transactions that call NOTIFY commit one at a
 * time, and claims must not wait for each other's fsync. A lost notification only delays its receiver until its next
 * heartbeat.
 */
export class NoticeQueue {
  readonly #notices: Coalescer<string, undefined>;

  constructor(database: Queryable) {
    this.#notices = new Coalescer({
      flush: async (notices) => {
        const payloads = [...new Set(notices.flatMap((each) => each.split(',')))];
        const channels = payloads.map((payload) =>
          payload === POOL || payload === SETTLED ? POOL_CHANNEL : RUNNER_CHANNEL,
        );
        await database.query(NOTIFY, [channels, payloads.map((payload) => (payload === POOL ? '' : payload))]);
        return notices.map(() => undefined);
      },
      maxItems: SET_MAX,
      maxWaiting: WAITING_MAX,
      isolate: false,
    });
  }

  readonly notify = (notices: string | null): void => {
    if (notices !== null) this.#notices.add(notices).catch(() => undefined);
  };
}
