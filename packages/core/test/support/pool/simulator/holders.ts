import type { Requirements } from '@heddle/base/vocabulary/requirements';
import type { NewRequest, RunnerStore } from '../../../../src/pool/port/store.ts';
import type { Clock } from '@heddle/base/clock';
import type { Chronicle } from './chronicle.ts';
import type { Dice } from './dice.ts';

interface Held {
  readonly request: NewRequest;
  /** When it is released; null before the grant. */
  until: number | null;
  isDone: boolean;
}

export interface HoldersOptions {
  readonly store: RunnerStore;
  readonly clock: Clock;
  readonly dice: Dice;
  readonly chronicle: Chronicle;
}

const HOLD_MAX_MS = 15_000;
const PATIENCE_MAX_MS = 40_000;

/** Clients that hold runners for a while without a task; some have a short maximum wait. */
export class Holders {
  readonly #options: HoldersOptions;
  readonly #held = new Map<string, Held>();

  constructor(options: HoldersOptions) {
    this.#options = options;
  }

  get open(): number {
    return this.#held.size;
  }

  async ask(requirements: Requirements, tenant: string, count: number): Promise<void> {
    const { store, clock, dice } = this.#options;
    const expires_at = dice.chance(0.2) ? clock.now() + dice.between(1_000, PATIENCE_MAX_MS) : null;
    const fields = { tenant, count, source: 'holder', run: tenant, attempt: null, expires_at } as const;
    const request: NewRequest = { ...requirements, ...fields, id: dice.uuid() };
    this.#held.set(request.id, { request, until: null, isDone: false });
    await store.ask([request]);
    // Requests whose answer was lost are repeated.
    if (dice.chance(0.2)) await store.ask([request]);
  }

  /** Handles every open request. */
  async tick(): Promise<void> {
    const { store, clock, dice, chronicle } = this.#options;
    for (const [id, held] of this.#held) {
      const request = await store.request(id);
      if (request === null) throw chronicle.violation(`request ${id} is lost`);
      if (request.state === 'waiting') held.until = null;
      else if (request.state === 'ended') {
        const isLate = request.expires_at !== null && request.expires_at <= clock.now();
        if (!held.isDone && !isLate) throw chronicle.violation(`request ${id} ended by itself: ${request.reason}`);
        this.#held.delete(id);
      } else if (held.until === null) held.until = clock.now() + dice.between(0, HOLD_MAX_MS);
      else if (held.until <= clock.now()) {
        chronicle.note(`request ${id} released`);
        held.isDone = true;
        await store.withdraw([id], 'done');
      }
    }
  }
}
