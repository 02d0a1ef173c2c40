import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Database, Statement } from '../store/database.ts';

const CHANNEL = 'heddle';

const NOTIFY: Statement = { name: 'signals.notify', text: `select pg_notify('${CHANNEL}', $1)` };

const COUNT_LISTENERS: Statement = {
  name: 'signals.count_listeners',
  text: `select count(*) as n from pg_stat_activity
    where datname = current_database() and application_name like 'heddle%listen%'`,
};

/** Wake-ups caused by one commit. Lanes are numbers: 0 is webhooks, those below are runners, those above kinds. */
export interface Signal {
  lanes?: readonly number[];
  deliveries?: boolean;
  /** More than 16 mean "many". */
  workflows?: readonly string[];
}

interface Payload {
  from: string;
  lanes: number[];
  deliveries: boolean;
  workflows: string[] | 'many';
}

type Wake = () => void;

/** Interval at which new listening processes are detected; until then they find work by polling. */
const LOOK_INTERVAL_MS = 1_000;

/** Minimum interval between notifications of workflow changes. */
const CHANGE_DEBOUNCE_MS = 100;

/**
 * Sends wake-ups after commits: directly within the process, by NOTIFY to others. Notifications are sent after the
 * commit and merged while one is being sent; a lost one costs latency, never correctness, because every loop also
 * polls.
 */
export class Signals {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #id: string;
  readonly #onNotification: () => void;
  readonly #lanes = new Map<number, Set<Wake>>();
  readonly #deliveries = new Set<Wake>();
  readonly #workflows = new Map<string, Set<Wake>>();
  readonly #changed = new Set<string>();
  #changeTimer: (() => void) | undefined;
  #pending: Payload | undefined;
  #sending: Promise<void> | undefined;
  #listening: Promise<void> | undefined;
  #unlisten: (() => Promise<void>) | undefined;
  /** Whether other processes listen; assumed until known. */
  #othersListen = true;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(database: Database, clock: Clock, log: Logger, id: string, onNotification: () => void = () => undefined) {
    this.#database = database;
    this.#clock = clock;
    this.#log = log;
    this.#id = id;
    this.#onNotification = onNotification;
  }

  emit(signal: Signal): void {
    this.#wakeHere(signal.lanes ?? [], signal.deliveries === true, manyOr(signal.workflows ?? []));
    if (this.#closed) return;
    this.#lookAgain();
    if (!this.#othersListen) return;
    this.#pending = merge(this.#pending, signal, this.#id);
    this.#sending ??= this.#send();
  }

  onReady(lanes: readonly number[], wake: Wake): () => void {
    this.#listen();
    const removals = lanes.map((lane) => subscribe(this.#lanes, lane, wake));
    return () => removals.forEach((remove) => remove());
  }

  onDeliveryDue(wake: Wake): () => void {
    this.#listen();
    this.#deliveries.add(wake);
    return () => void this.#deliveries.delete(wake);
  }

  onWorkflowChange(id: string, wake: Wake): () => void {
    this.#listen();
    return subscribe(this.#workflows, id, wake);
  }

  /** Checks periodically whether any other process listens; without one no notification is needed. */
  #lookAgain(): void {
    const now = this.#clock.monotonic();
    if (now - this.#lookedAt < LOOK_INTERVAL_MS) return;
    this.#lookedAt = now;
    this.#database
      .query<{ n: number }>(COUNT_LISTENERS)
      .then(([row]) => {
        this.#othersListen = row!.n > (this.#listening === undefined || this.#database.stats().polls === true ? 0 : 1);
      })
      .catch((error: unknown) => {
        this.#othersListen = true;
        this.#log.debug({ err: error }, 'could not list listeners; notifying all');
      });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#changeTimer?.();
    await this.#sending;
    await this.#listening;
    await this.#unlisten?.();
  }

  #listen(): void {
    if (this.#closed) return;
    this.#listening ??= this.#database
      .listen(CHANNEL, (payload) => this.#receive(payload))
      .then((unlisten) => {
        this.#unlisten = unlisten;
      })
      .catch((error: unknown) =>
        this.#log.warn({ err: error }, 'could not listen for notifications; continuing with polling'),
      );
  }

  #receive(payload: string): void {
    if (payload === '') {
      // Reconnected: notifications may have been lost meanwhile.
      this.#wakeHere([...this.#lanes.keys()], true, 'many');
      return;
    }
    const message = JSON.parse(payload) as Payload;
    if (message.from === this.#id) return;
    this.#onNotification();
    this.#wakeHere(message.lanes, message.deliveries, message.workflows);
  }

  #wakeHere(lanes: readonly number[], deliveries: boolean, workflows: readonly string[] | 'many'): void {
    for (const lane of lanes) this.#lanes.get(lane)?.forEach((wake) => wake());
    if (deliveries) this.#deliveries.forEach((wake) => wake());
    if (this.#workflows.size === 0) return;
    for (const id of workflows === 'many' ? this.#workflows.keys() : workflows) {
      if (this.#workflows.has(id)) this.#changed.add(id);
    }
    if (this.#changed.size > 0) this.#changeTimer ??= this.#clock.after(CHANGE_DEBOUNCE_MS, () => this.#tellChanges());
  }

  #tellChanges(): void {
    this.#changeTimer = undefined;
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const id of changed) this.#workflows.get(id)?.forEach((wake) => wake());
  }

  async #send(): Promise<void> {
    while (this.#pending !== undefined) {
      const payload = this.#pending;
      this.#pending = undefined;
      try {
        await this.#database.query(NOTIFY, [JSON.stringify(payload)]);
      } catch (error) {
        this.#log.debug({ err: error }, 'notification failed; other processes find the work by polling');
      }
    }
    this.#sending = undefined;
  }
}

function manyOr(workflows: readonly string[]): readonly string[] | 'many' {
  return workflows.length > 16 ? 'many' : workflows;
}

function merge(into: Payload | undefined, signal: Signal, from: string): Payload {
  const workflows = new Set(into?.workflows === 'many' ? [] : (into?.workflows ?? []));
  for (const id of signal.workflows ?? []) workflows.add(id);
  return {
    from,
    lanes: [...new Set([...(into?.lanes ?? []), ...(signal.lanes ?? [])])],
    deliveries: (into?.deliveries ?? false) || signal.deliveries === true,
    workflows: into?.workflows === 'many' ? 'many' : (manyOr([...workflows]) as string[] | 'many'),
  };
}

function subscribe<Key>(map: Map<Key, Set<Wake>>, key: Key, wake: Wake): () => void {
  const wakes = map.get(key) ?? new Set<Wake>();
  map.set(key, wakes);
  wakes.add(wake);
  return () => {
    wakes.delete(wake);
    if (wakes.size === 0) map.delete(key);
  };
}
