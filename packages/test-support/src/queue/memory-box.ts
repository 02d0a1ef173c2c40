import { DueHeap } from './due-heap.ts';
import { SET_BYTES_MAX, type CheckedMessage } from '@heddle/core/queue/limits';
import type { DeadLetter, QueueDepth, ReceivedMessage } from '@heddle/core/queue/port';

interface Held {
  id: string;
  body: string;
  bytes: number;
  sent_at: number;
  visible_at: number;
  receive_count: number;
  receipt: string | null;
}

/** Time at which a message may be due; void if the message was settled or rescheduled meanwhile. */
interface Turn {
  dueAt: number;
  message: Held;
}

/** One queue in memory. */
export class MemoryBox {
  readonly #name: string;
  readonly #maxReceives: number;
  readonly #messages = new Map<string, Held>();
  readonly #turns = new DueHeap<Turn>();
  readonly #dead = new Map<string, DeadLetter>();
  #deliveries = 0;

  constructor(name: string, maxReceives: number) {
    this.#name = name;
    this.#maxReceives = maxReceives;
  }

  put(message: CheckedMessage, now: number): void {
    if (this.#messages.has(message.id)) return;
    const { id, body, bytes, delay_ms } = message;
    const held = { id, body, bytes, sent_at: now, visible_at: now + delay_ms, receive_count: 0, receipt: null };
    this.#messages.set(id, held);
    this.#schedule(held);
  }

  take(max: number, visibilityMs: number, now: number): ReceivedMessage[] {
    const taken: Held[] = [];
    let bytes = 0;
    while (taken.length < max && bytes < SET_BYTES_MAX) {
      const message = this.#nextDue(now);
      if (message === undefined) break;
      this.#turns.pop();
      if (message.receive_count >= this.#maxReceives) {
        this.#die(message, `received ${message.receive_count} times and never settled`, now);
        continue;
      }
      this.#deliveries += 1;
      message.receive_count += 1;
      message.receipt = `${message.id}.${this.#deliveries}`;
      message.visible_at = now + visibilityMs;
      bytes += message.bytes;
      taken.push(message);
    }
    // After the loop: a visibility near zero must not deliver a message twice in one set.
    for (const message of taken) this.#schedule(message);
    return taken.map(({ id, body, receipt, receive_count, sent_at }) => ({
      id,
      body,
      receipt: receipt!,
      receive_count,
      sent_at,
    }));
  }

  /** Returns the milliseconds until the next message is due; null if there is none. */
  nextDueInMs(now: number): number | null {
    this.#nextDue(now);
    const turn = this.#turns.peek();
    return turn === undefined ? null : Math.max(1, Math.ceil(turn.dueAt - now));
  }

  hide(receipt: string, ms: number, release: boolean, now: number): void {
    const message = this.#heldBy(receipt);
    if (message === undefined) return;
    message.visible_at = now + ms;
    if (release) message.receipt = null;
    this.#schedule(message);
  }

  delete(receipt: string): void {
    const message = this.#heldBy(receipt);
    if (message !== undefined) this.#messages.delete(message.id);
  }

  deadLetter(receipt: string, reason: string, now: number): void {
    const message = this.#heldBy(receipt);
    if (message !== undefined) this.#die(message, reason, now);
  }

  redrive(ids: readonly string[] | null, now: number): number {
    const letters = ids === null ? [...this.#dead.values()] : ids.flatMap((id) => this.#dead.get(id) ?? []);
    for (const { id, body } of letters) {
      this.#dead.delete(id);
      this.put({ id, body, bytes: Buffer.byteLength(body), delay_ms: 0, group: null }, now);
    }
    return letters.length;
  }

  get dead(): readonly DeadLetter[] {
    return [...this.#dead.values()];
  }

  depth(now: number): QueueDepth {
    const depth = { visible: 0, in_flight: 0, delayed: 0, dead: this.#dead.size };
    for (const { visible_at, receipt } of this.#messages.values()) {
      if (visible_at <= now) depth.visible += 1;
      else depth[receipt === null ? 'delayed' : 'in_flight'] += 1;
    }
    return depth;
  }

  #heldBy(receipt: string): Held | undefined {
    const message = this.#messages.get(receipt.slice(0, receipt.indexOf('.')));
    return message?.receipt === receipt ? message : undefined;
  }

  /** Returns the message on top of the heap if it is due; drops void entries above it. */
  #nextDue(now: number): Held | undefined {
    for (let turn = this.#turns.peek(); turn !== undefined; turn = this.#turns.peek()) {
      const { message, dueAt } = turn;
      if (this.#messages.get(message.id) === message && message.visible_at === dueAt) {
        return dueAt <= now ? message : undefined;
      }
      this.#turns.pop();
    }
    return undefined;
  }

  #schedule(message: Held): void {
    this.#turns.push({ dueAt: message.visible_at, message });
  }

  #die(message: Held, reason: string, now: number): void {
    this.#messages.delete(message.id);
    const { id, body, receive_count, sent_at } = message;
    this.#dead.set(id, { id, queue: this.#name, body, reason, receive_count, sent_at, dead_lettered_at: now });
  }
}
