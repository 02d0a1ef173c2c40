import { findingBytes, problemBytes } from '../result-size.ts';
import type { Finding, Problem } from '../result.ts';

/** Maximum held back before no new object is begun: bytes of findings and problems, and completed objects. */
const HELD_BYTES_MAX = 16 * 1024 * 1024;
const HELD_OBJECTS_MAX = 50_000;

/** Receives results in order. A returned promise is awaited before the next one. */
export interface Delivery {
  finding(finding: Finding): void | Promise<void>;
  problem(problem: Problem): void | Promise<void>;
  /** Reports how many findings of an unfinished object were delivered. */
  acknowledge(index: number, findings: number): void;
  /** All objects before this number were delivered. */
  advanced(next: number): void;
  failed(error: unknown): void;
}

interface Slot {
  findings: Finding[];
  problems: Problem[];
  /** Delivered findings and problems of the lists. */
  deliveredFindings: number;
  deliveredProblems: number;
  /** Findings and problems received so far. */
  receivedFindings: number;
  receivedProblems: number;
  /** Upcoming results that were already received: the object is being read again. */
  skipFindings: number;
  skipProblems: number;
  isDone: boolean;
}

/** Restores the order of discovery for results of objects that end in any order. */
export class ReorderBuffer {
  readonly #delivery: Delivery;
  readonly #slots = new Map<number, Slot | 'done'>();
  #next: number;
  #heldBytes = 0;
  #waiting: Promise<void> | null = null;
  #isResting = false;

  constructor(delivery: Delivery, next = 0) {
    this.#delivery = delivery;
    this.#next = next;
  }

  /** Number of the oldest object that is unfinished or undelivered. */
  get next(): number {
    return this.#next;
  }

  /** True if new objects must not add results until the oldest one is done. */
  get isFull(): boolean {
    return this.#heldBytes > HELD_BYTES_MAX || this.#slots.size > HELD_OBJECTS_MAX;
  }

  add(index: number, findings: readonly Finding[], problems: readonly Problem[]): void {
    const slot = this.#slotOf(index);
    const newFindings = findings.slice(Math.min(slot.skipFindings, findings.length));
    const newProblems = problems.slice(Math.min(slot.skipProblems, problems.length));
    slot.skipFindings -= findings.length - newFindings.length;
    slot.skipProblems -= problems.length - newProblems.length;
    for (const finding of newFindings) {
      slot.findings.push(finding);
      this.#heldBytes += findingBytes(finding);
    }
    for (const problem of newProblems) {
      slot.problems.push(problem);
      this.#heldBytes += problemBytes(problem);
    }
    slot.receivedFindings += newFindings.length;
    slot.receivedProblems += newProblems.length;
  }

  complete(index: number): void {
    const slot = this.#slots.get(index);
    if (slot === undefined) this.#slots.set(index, 'done');
    else if (slot !== 'done') slot.isDone = true;
  }

  /** Records that the object is read again from its beginning: results that were already received are skipped. */
  restart(index: number): void {
    const slot = this.#slots.get(index);
    if (slot === undefined || slot === 'done') return;
    slot.skipFindings = slot.receivedFindings;
    slot.skipProblems = slot.receivedProblems;
  }

  /** Delivers what is in order, up to the first delivery that must be awaited; continues by itself afterwards. */
  deliver(): void {
    if (this.#waiting !== null || this.#isResting) return;
    const before = this.#next;
    for (let slot = this.#slots.get(this.#next); slot !== undefined; slot = this.#slots.get(this.#next)) {
      if (slot !== 'done') {
        const waiting = this.#deliverSlot(slot);
        if (waiting !== null) {
          this.#await(waiting);
          break;
        }
        if (!slot.isDone) break;
      }
      this.#slots.delete(this.#next);
      this.#next += 1;
    }
    if (this.#next > before) this.#delivery.advanced(this.#next);
  }

  /** Delivers everything received, in order, regardless of gaps. Used after an abort. */
  async deliverRest(): Promise<void> {
    this.#isResting = true;
    await this.#waiting;
    for (const index of [...this.#slots.keys()].sort((a, b) => a - b)) {
      const slot = this.#slots.get(index)!;
      this.#slots.delete(index);
      if (slot === 'done') continue;
      for (let waiting = this.#deliverSlot(slot); waiting !== null; waiting = this.#deliverSlot(slot)) await waiting;
    }
  }

  #deliverSlot(slot: Slot): Promise<void> | null {
    const deliveredBefore = slot.deliveredFindings;
    let waiting: Promise<void> | null = null;
    while (waiting === null && slot.deliveredFindings < slot.findings.length) {
      const finding = slot.findings[slot.deliveredFindings++]!;
      const answer = this.#delivery.finding(finding);
      if (answer instanceof Promise) waiting = answer;
      this.#heldBytes -= findingBytes(finding);
    }
    const delivered = slot.deliveredFindings - deliveredBefore;
    if (delivered > 0 && !slot.isDone) this.#delivery.acknowledge(this.#next, delivered);
    while (waiting === null && slot.deliveredProblems < slot.problems.length) {
      const problem = slot.problems[slot.deliveredProblems++]!;
      const answer = this.#delivery.problem(problem);
      if (answer instanceof Promise) waiting = answer;
      this.#heldBytes -= problemBytes(problem);
    }
    if (waiting !== null) return waiting;
    slot.findings = [];
    slot.problems = [];
    slot.deliveredFindings = 0;
    slot.deliveredProblems = 0;
    return null;
  }

  #await(waiting: Promise<void>): void {
    this.#waiting = waiting.then(
      () => {
        this.#waiting = null;
        this.deliver();
      },
      (error: unknown) => {
        this.#waiting = null;
        this.#delivery.failed(error);
      },
    );
  }

  #slotOf(index: number): Slot {
    const existing = this.#slots.get(index);
    if (existing !== undefined && existing !== 'done') return existing;
    const slot: Slot = {
      findings: [],
      problems: [],
      deliveredFindings: 0,
      deliveredProblems: 0,
      receivedFindings: 0,
      receivedProblems: 0,
      skipFindings: 0,
      skipProblems: 0,
      isDone: false,
    };
    this.#slots.set(index, slot);
    return slot;
  }
}
