import type { Clock } from '@heddle/base/clock';
import type { ReceivedMessage } from '@heddle/core/queue/port';

export interface ManagerBatchesOptions {
  /** Handles messages of one or more sets together and reports the outcome to their queue. */
  handle(messages: readonly ReceivedMessage[]): Promise<void>;
  /** Maximum concurrent batches. */
  underWayMax: number;
  /** Messages that begin a batch beside a running one at once; fewer wait for more of them, at most `companyWaitMs`. */
  besideMin: number;
  companyWaitMs: number;
  clock: Pick<Clock, 'after'>;
  /** Messages of a batch; a set is never split, so a larger one is a batch of its own. */
  messagesMax: number;
  /** Characters of the bodies of a batch; the same applies. */
  charactersMax: number;
}

interface WaitingSet {
  messages: readonly ReceivedMessage[];
  characters: number;
  ended: PromiseWithResolvers<undefined>;
}

/**
 * Groups the sets that receivers fetch into batches. A set starts at once if no batch is running; sets that arrive
 * meanwhile are combined, since a batch costs the same statements and commits whatever its size.
 */
export class ManagerBatches {
  readonly #options: ManagerBatchesOptions;
  readonly #runs = new Set<Promise<void>>();
  #underWay = 0;
  #waiting: WaitingSet[] = [];
  #waitingMessages = 0;
  #waitingCharacters = 0;
  #waitsForCompany = false;
  #whenRoom = Promise.withResolvers<undefined>();

  constructor(options: ManagerBatchesOptions) {
    this.#options = options;
  }

  /** Resolves once the set is handled; rejects with the error that failed its batch. */
  add(messages: readonly ReceivedMessage[]): Promise<undefined> {
    const characters = messages.reduce((sum, { body }) => sum + body.length, 0);
    const ended = Promise.withResolvers<undefined>();
    this.#waiting.push({ messages, characters, ended });
    this.#waitingMessages += messages.length;
    this.#waitingCharacters += characters;
    if (this.#underWay === 0 || this.#waitingMessages >= this.#options.besideMin || !this.#hasRoom) this.#beginNext();
    else this.#awaitCompany();
    return ended.promise;
  }

  /** Resolves once the waiting sets no longer fill the next batch. */
  async room(): Promise<void> {
    while (!this.#hasRoom) await this.#whenRoom.promise;
  }

  get #hasRoom(): boolean {
    const { messagesMax, charactersMax } = this.#options;
    return this.#waitingMessages < messagesMax && this.#waitingCharacters < charactersMax;
  }

  /** Resolves when everything added has been handled. */
  async drain(): Promise<void> {
    while (this.#runs.size > 0) await Promise.all(this.#runs);
  }

  #awaitCompany(): void {
    if (this.#waitsForCompany) return;
    this.#waitsForCompany = true;
    this.#options.clock.after(this.#options.companyWaitMs, () => {
      this.#waitsForCompany = false;
      this.#beginNext();
    });
  }

  /** What waits while the maximum is running is taken by the first batch that ends. */
  #beginNext(): void {
    if (this.#waiting.length === 0 || this.#underWay >= this.#options.underWayMax) return;
    this.#underWay += 1;
    const run = this.#runAll().finally(() => this.#runs.delete(run));
    this.#runs.add(run);
  }

  async #runAll(): Promise<void> {
    for (let sets = this.#take(); sets.length > 0; sets = this.#take()) {
      try {
        await this.#options.handle(sets.flatMap(({ messages }) => messages));
        for (const { ended } of sets) ended.resolve(undefined);
      } catch (error) {
        for (const { ended } of sets) ended.reject(error);
      }
    }
    // In the same tick as the check for waiting sets: a set added later must find no flush running.
    this.#underWay -= 1;
  }

  #take(): WaitingSet[] {
    const { messagesMax, charactersMax } = this.#options;
    const taken: WaitingSet[] = [];
    let messages = 0;
    let characters = 0;
    for (const set of this.#waiting) {
      messages += set.messages.length;
      characters += set.characters;
      if (taken.length > 0 && (messages > messagesMax || characters > charactersMax)) break;
      taken.push(set);
      this.#waitingMessages -= set.messages.length;
      this.#waitingCharacters -= set.characters;
    }
    this.#waiting = this.#waiting.slice(taken.length);
    if (this.#hasRoom) {
      this.#whenRoom.resolve(undefined);
      this.#whenRoom = Promise.withResolvers<undefined>();
    }
    return taken;
  }
}
