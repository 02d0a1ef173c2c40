import { MANAGER_QUEUE } from '@heddle/core/domain/message';
import type { Manager, ManagerRun } from '@heddle/core/engine/manager/manager';
import type { Engine } from '@heddle/core/engine/port';
import { SET_BYTES_MAX } from '@heddle/core/queue/limits';
import type { MessageQueue, ReceivedMessage } from '@heddle/core/queue/port';
import { backoffMs } from '@heddle/base/backoff';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { Random } from '@heddle/base/random';
import { ManagerBatches } from './manager-batches.ts';

export interface ManagerLoopOptions {
  manager: Manager;
  queue: MessageQueue;
  engine: Pick<Engine, 'onReady'>;
  /** Receivers that poll the queue, and batches run at once; each holds a connection of the pool. */
  receivers: number;
  /** How often the clock runs: delays, timeouts, lost claims, ends of trees, due jobs. */
  intervalMs: number;
  /**
   * How long a handled message is remembered, so that a redelivery has no second effect: longer than its queue may
   * redeliver it.
   */
  inboxKeepMs: number;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Messages of one batch, 500 by default. */
  batchMax?: number;
  /** Messages requested from the queue at once, 100 by default. */
  receiveMax?: number;
  /** How long a batch is hidden from others, ms; extended while it runs. */
  visibilityMs?: number;
}

const BATCH_MAX = 500;
/** A second small batch costs as much as the first one, and both update the same workflows. */
const BESIDE_MIN = 200;
const COMPANY_WAIT_MS = 20;
/** More are fetched while a batch runs, and join the next one. */
const RECEIVE_MAX = 100;
const VISIBILITY_MS = 60_000;
/** Longest wait for a message within one call; also the maximum of SQS. */
const WAIT_MS = 20_000;
/** A failed message is redelivered after this, so that its prerequisite may have arrived. */
const RELEASE_BACKOFF = { base_ms: 250, factor: 2, max_ms: 120_000, jitter: 0.5 };
const FORGET_INTERVAL_MS = 60_000;
const BURIED_INTERVAL_MS = 60_000;
const FORGET_MAX = 5_000;

/**
 * Runs the manager in this process, alongside any number of others: receivers that take batches from its queue, a clock
 * for what only time triggers, and a dispatcher that hands out tasks as soon as they are ready.
 */
export class ManagerLoop {
  readonly #options: ManagerLoopOptions;
  readonly #loops: readonly Loop[];
  readonly #dispatcher: Loop;
  readonly #batches: ManagerBatches;
  /** Kinds whose lanes wake the dispatcher, each with the function that unsubscribes. */
  readonly #watched = new Map<string, () => void>();
  #unwatchRunners: (() => void) | undefined;
  /** Whether the last batch failed because the database was unavailable. */
  #databaseFailed = false;

  constructor(options: ManagerLoopOptions) {
    const { receivers, intervalMs, clock, log, batchMax = BATCH_MAX } = options;
    this.#options = options;
    this.#batches = new ManagerBatches({
      handle: (messages) => this.#handle(messages),
      underWayMax: receivers,
      besideMin: BESIDE_MIN,
      companyWaitMs: COMPANY_WAIT_MS,
      clock,
      messagesMax: batchMax,
      charactersMax: SET_BYTES_MAX,
    });
    const loop = (name: string, everyMs: number, runOnce: (signal: AbortSignal) => Promise<'again' | 'idle'>): Loop =>
      new Loop({ name, intervalMs: everyMs, clock, log, runOnce });
    this.#dispatcher = loop('manager dispatch', intervalMs, () => this.#dispatch());
    this.#loops = [
      loop('manager clock', intervalMs, () => this.#look()),
      this.#dispatcher,
      loop('manager inbox', FORGET_INTERVAL_MS, () => this.#forget()),
      loop('manager dead letters', BURIED_INTERVAL_MS, () => this.#recordDeadLetters()),
      ...Array.from({ length: receivers }, (_, index) =>
        loop(`manager receiver ${index + 1}`, intervalMs, (signal) => this.#receive(signal)),
      ),
    ];
  }

  start(): void {
    for (const loop of this.#loops) loop.start();
    this.#unwatchRunners = this.#options.engine.onReady(['runners'], () => this.#dispatcher.wake());
  }

  /** Takes no further messages; resolves when the running batches have completed and settled. */
  async stop(): Promise<void> {
    this.#unwatchRunners?.();
    for (const unwatch of this.#watched.values()) unwatch();
    this.#watched.clear();
    await Promise.all(this.#loops.map((loop) => loop.stop()));
    await this.#batches.drain();
  }

  async #receive(signal: AbortSignal): Promise<'again'> {
    const { queue, manager, log, batchMax = BATCH_MAX, visibilityMs = VISIBILITY_MS } = this.#options;
    const max = Math.min(this.#options.receiveMax ?? RECEIVE_MAX, batchMax);
    // Every delivery counts toward the dead-letter limit, so none is requested while the database is unavailable.
    if (this.#databaseFailed) await manager.ping();
    this.#databaseFailed = false;
    const messages = await queue.receive(MANAGER_QUEUE, {
      max,
      wait_ms: WAIT_MS,
      visibility_ms: visibilityMs,
      signal,
    });
    if (messages.length === 0) return 'again';
    const hidden = this.#keepHidden(messages, visibilityMs);
    const handled = this.#batches.add(messages).finally(() => hidden.end());
    if (messages.length < max) {
      await handled;
    } else {
      // More messages wait: they are fetched while this set runs, and are batched with others of their time.
      handled.catch((error: unknown) => log.warn({ err: error }, 'batch failed; will be redelivered'));
      await this.#batches.room();
    }
    return 'again';
  }

  async #handle(messages: readonly ReceivedMessage[]): Promise<void> {
    const { queue, manager, clock, random } = this.#options;
    const run = await manager.run(messages, clock.now(), { upkeep: false, dispatch: false });
    // The batch's commits have woken it for the kinds that it watches; this is for the others.
    this.#dispatcher.wake();
    this.#databaseFailed = run.error !== null;
    await settle(queue, messages, run, random);
    // A cause that fails one run will fail the next: the receivers wait a little longer each time.
    if (run.error !== null) throw run.error;
  }

  #keepHidden(messages: readonly ReceivedMessage[], visibilityMs: number): { end(): void } {
    const { queue, clock, log } = this.#options;
    let cancel = (): void => undefined;
    const arm = (): void => {
      cancel = clock.after(visibilityMs / 2, () => {
        arm();
        queue
          .extend(
            MANAGER_QUEUE,
            messages.map(({ receipt }) => receipt),
            visibilityMs,
          )
          .catch((error: unknown) =>
            log.warn({ err: error }, 'could not extend the visibility of running messages; they may be redelivered'),
          );
      });
    };
    arm();
    return { end: () => cancel() };
  }

  async #look(): Promise<'again' | 'idle'> {
    const { manager, clock } = this.#options;
    const { busy, error } = await manager.run([], clock.now());
    if (error !== null) throw error;
    this.#watch(await manager.dispatchedKinds());
    return busy ? 'again' : 'idle';
  }

  async #dispatch(): Promise<'again' | 'idle'> {
    const { manager, clock } = this.#options;
    const { busy, error } = await manager.run([], clock.now(), { upkeep: false });
    if (error !== null) throw error;
    return busy ? 'again' : 'idle';
  }

  #watch(kinds: readonly string[]): void {
    const wanted = new Set(kinds);
    for (const [kind, unwatch] of this.#watched) {
      if (wanted.has(kind)) continue;
      unwatch();
      this.#watched.delete(kind);
    }
    for (const kind of wanted) {
      if (this.#watched.has(kind)) continue;
      this.#watched.set(
        kind,
        this.#options.engine.onReady([`kind:${kind}`], () => this.#dispatcher.wake()),
      );
    }
  }

  async #recordDeadLetters(): Promise<'idle'> {
    await this.#options.manager.recordDeadLetters();
    return 'idle';
  }

  async #forget(): Promise<'again' | 'idle'> {
    const { manager, clock, inboxKeepMs } = this.#options;
    const forgotten = await manager.forgetMessages(clock.now() - inboxKeepMs, FORGET_MAX);
    return forgotten >= FORGET_MAX ? 'again' : 'idle';
  }
}

const DAY_MS = 86_400_000;

/** SQS redelivers a message for 14 days at most; the PostgreSQL queue keeps it for less, weekends included. */
export function inboxKeepMs({ inboxKeepSecs }: { inboxKeepSecs: number }, { driver }: MessageQueue): number {
  if (inboxKeepSecs > 0) return inboxKeepSecs * 1_000;
  return (driver === 'sqs' ? 14 : 3) * DAY_MS;
}

/** Settles a batch with the queue: deletes handled messages, returns failed ones for later, and drops dead-lettered ones. */
async function settle(
  queue: MessageQueue,
  messages: readonly ReceivedMessage[],
  { failed, deadLettered }: ManagerRun,
  random: Random,
): Promise<void> {
  const reasons = new Map(deadLettered.map(({ id, reason }) => [id, reason]));
  const again = new Set(failed);
  const handled = messages.filter(({ id }) => !reasons.has(id) && !again.has(id));
  if (handled.length > 0) {
    await queue.delete(
      MANAGER_QUEUE,
      handled.map(({ receipt }) => receipt),
    );
  }
  const letters = messages.flatMap(({ id, receipt }) => {
    const reason = reasons.get(id);
    return reason === undefined ? [] : [{ receipt, reason }];
  });
  if (letters.length > 0) await queue.deadLetter(MANAGER_QUEUE, letters);
  await settleFailed(
    queue,
    messages.filter(({ id }) => again.has(id)),
    random,
  );
}

/** Returns failed messages to the queue, each with a delay that grows with its deliveries. */
export async function settleFailed(
  queue: MessageQueue,
  failed: readonly ReceivedMessage[],
  random: Random,
): Promise<void> {
  for (const [receives, messages] of Map.groupBy(failed, ({ receive_count }) => receive_count)) {
    await queue.release(
      MANAGER_QUEUE,
      messages.map(({ receipt }) => receipt),
      backoffMs(RELEASE_BACKOFF, Math.max(1, receives), () => random.next()),
    );
  }
}
