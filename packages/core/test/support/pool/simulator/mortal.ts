import type { RunnerProvider } from '../../../../src/pool/port/provider.ts';
import type { Clock } from '@heddle/base/clock';
import type { Dice } from './dice.ts';

/** Faults of the external calls of a process, as probabilities. */
export interface Perils {
  /** The process is killed right before the call, or right after it without the answer. */
  readonly crash: number;
  /** Point at which it is certainly killed: `before METHOD` or `after METHOD`, on the next occasion. */
  readonly doom?: string | undefined;
  /** The call is delayed. */
  readonly delay: number;
  /** The call fails, before or after its effect. */
  readonly failure: number;
}

export const SAFE: Perils = { crash: 0, delay: 0, failure: 0 };

const DELAY_MAX_MS = 400;

export interface MortalOptions {
  readonly clock: Clock;
  readonly dice: Dice;
  perils(): Perils;
  /** @param where the point at which it was killed */
  onDeath(where: string): void;
}

/** A process that may be killed at any call: its state in memory and its pending work are lost. */
export class Mortal {
  readonly #options: MortalOptions;
  #isDead = false;

  constructor(options: MortalOptions) {
    this.#options = options;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  kill(where: string): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#options.onDeath(where);
  }

  /** Wraps an external object so that every method is a call of this process. */
  line<Target extends object>(target: Target, label: string): Target {
    return new Proxy(target, {
      get: (_, key): unknown => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== 'function' || typeof key !== 'string') return value;
        const method = value as (...args: unknown[]) => unknown;
        return (...args: unknown[]) => this.call(`${label}.${key}`, () => method.apply(target, args));
      },
    });
  }

  providerLine(provider: RunnerProvider): RunnerProvider {
    const { call } = this;
    async function* list(): ReturnType<RunnerProvider['list']> {
      for await (const page of provider.list()) yield await call('provider.list', () => page);
    }
    return Object.assign(Object.create(this.line(provider, 'provider')) as RunnerProvider, { list });
  }

  readonly call = async <T>(what: string, run: () => T | Promise<T>): Promise<T> => {
    const { dice } = this.#options;
    const perils = this.#options.perils();
    if (this.#isDead || this.#struck(perils, `before ${what}`)) return never();
    if (dice.chance(perils.delay)) await this.#wait();
    if (dice.chance(perils.failure)) throw new Error(`${what}: the line is down`);
    if (this.#hasDied()) return never();
    const answer = await run();
    if (this.#hasDied() || this.#struck(perils, `after ${what}`)) return never();
    if (dice.chance(perils.delay)) await this.#wait();
    if (this.#hasDied()) return never();
    if (dice.chance(perils.failure)) throw new Error(`${what}: the answer was lost`);
    return answer;
  };

  #struck({ crash, doom }: Perils, where: string): boolean {
    if (doom !== where && !this.#options.dice.chance(crash)) return false;
    this.kill(where);
    return true;
  }

  #wait(): Promise<void> {
    return this.#options.clock.sleep(this.#options.dice.between(1, DELAY_MAX_MS));
  }

  /** A method, since the process may have been killed during an await. */
  #hasDied(): boolean {
    return this.#isDead;
  }
}

/** A promise that never settles, for a killed process. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
