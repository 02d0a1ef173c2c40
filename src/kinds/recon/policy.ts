import type { Clock } from '../../runtime/clock.ts';
import { createPace } from '../../recon/targets/pace.ts';
import type { Pace } from '../../recon/targets/port.ts';
import { createScope, narrowScope, type AddressScope } from '../../recon/targets/scope.ts';
import type { PlacedText } from '../../recon/targets/target-lines.ts';

export interface PolicyOptions {
  /** What may be probed beside loopback and private networks. */
  scope: readonly (string | PlacedText)[];
  /** Domains whose names may be looked up, though they make no address one that may be probed. */
  followed?: readonly string[];
  /** Packets a second of all tasks of this process together. */
  rate: number;
  clock: Clock;
}

/** What the operator of a process allows: every task is held to it, and may only narrow it. */
export class ReconPolicy {
  readonly #scope: AddressScope;
  readonly #clock: Clock;
  readonly #rate: number;
  readonly #pace: Pace;

  /** @throws HeddleError where an entry of the scope is none */
  constructor({ scope, followed, rate, clock }: PolicyOptions) {
    this.#scope = createScope(scope, followed);
    this.#clock = clock;
    this.#rate = rate;
    this.#pace = createPace({ clock, rate, host_rate: Infinity });
  }

  /** @throws HeddleError where an entry is none */
  scopeOf(entries: readonly string[]): AddressScope {
    return narrowScope(this.#scope, entries);
  }

  /** A pace of a task's own, within that of the process. */
  paceOf({ rate, host_rate }: { rate: number; host_rate: number }): Pace {
    const own = createPace({ clock: this.#clock, rate: Math.min(rate, this.#rate), host_rate });
    return new SharedPace(own, this.#pace);
  }
}

/** Takes from both or from none. */
class SharedPace implements Pace {
  readonly #own: Pace;
  readonly #shared: Pace;

  constructor(own: Pace, shared: Pace) {
    this.#own = own;
    this.#shared = shared;
  }

  get rate(): number {
    return Math.min(this.#own.rate, this.#shared.rate);
  }

  take(host: string): number {
    if (this.#shared.available(1) < 1) return 1000 / this.#shared.rate;
    const waitMs = this.#own.take(host);
    return waitMs > 0 ? waitMs : this.#shared.take(host);
  }

  available(max: number): number {
    return Math.min(this.#own.available(max), this.#shared.available(max));
  }

  /** Loss on the way to one task's targets is no reason to slow down the others. */
  observe(sent: number, answered: number): void {
    this.#own.observe(sent, answered);
  }
}
