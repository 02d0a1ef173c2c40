import { getServers } from 'node:dns';

import { HeddleError } from '@heddle/base/errors';
import { parseResolver } from '@heddle/recon/dns/resolver';
import type { Clock } from '@heddle/base/clock';
import { createPace } from '@heddle/recon/targets/pace';
import type { Pace } from '@heddle/recon/targets/port';
import { createScope, narrowScope, type AddressScope } from '@heddle/recon/targets/scope';
import type { LocatedText } from '@heddle/recon/targets/target-lines';

export interface PolicyOptions {
  /** What may be probed besides loopback and private networks. */
  scope: readonly (string | LocatedText)[];
  /** Domains whose names may be resolved without adding any address to the scope. */
  followed?: readonly string[];
  /** Packets per second of all tasks of this process together. */
  rate: number;
  clock: Clock;
}

/** The operator's policy for a process: tasks can only narrow it. */
export class ReconPolicy {
  readonly #scope: AddressScope;
  readonly #clock: Clock;
  readonly #rate: number;
  readonly #pace: Pace;

  /** @throws HeddleError if an entry of the scope is invalid */
  constructor({ scope, followed, rate, clock }: PolicyOptions) {
    this.#scope = createScope(scope, followed);
    this.#clock = clock;
    this.#rate = rate;
    this.#pace = createPace({ clock, rate, hostRate: Infinity });
  }

  /**
   * Returns the scope of one task. Its resolvers receive packets too, so the operator's scope must cover them unless
   * they are the system's.
   *
   * @throws HeddleError if an entry is invalid, or a resolver is not covered
   */
  scopeOf({ scope, resolvers }: { scope: readonly string[]; resolvers: readonly string[] }): AddressScope {
    if (resolvers.length > 0) this.#requireResolvers(resolvers);
    return narrowScope(this.#scope, scope);
  }

  #requireResolvers(resolvers: readonly string[]): void {
    const known = new Set(getServers().map((server) => parseResolver(server).ip));
    const faults = resolvers.flatMap((text) => {
      const { ip } = parseResolver(text);
      const verdict = known.has(ip) ? { allowed: true as const } : this.#scope.check(ip, null);
      return verdict.allowed ? [] : [`resolvers: ${verdict.reason}`];
    });
    if (faults.length > 0) throw new HeddleError('VALIDATION_FAILED', faults.join('; '), { details: faults });
  }

  /** Returns a task's own pace within that of the process. */
  paceOf({ rate, host_rate }: { rate: number; host_rate: number }): Pace {
    const own = createPace({ clock: this.#clock, rate: Math.min(rate, this.#rate), hostRate: host_rate });
    return new SharedPace(own, this.#pace);
  }
}

/** Takes from both paces or from neither. */
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

  /** Loss towards one task's targets must not slow down the others. */
  observe(sent: number, answered: number): void {
    this.#own.observe(sent, answered);
  }
}
