import { ProxyAgent, type Dispatcher } from 'undici';

import { createGuardedAgent, type ResolveHost } from '@heddle/base/outbound/guarded-agent';
import { SsrfGuard, type SsrfPolicy } from '@heddle/base/outbound/ssrf';
import type { Proxies } from './proxies.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const CONNECTIONS_PER_HOST = 4;

export interface OutboundOptions {
  /** Which addresses may be called. */
  policy: SsrfPolicy;
  /** Applies to every host; null: the proxies of the environment. */
  proxy: string | null;
  environment: Proxies;
  /** The system's resolver by default; for tests. */
  resolve?: ResolveHost | undefined;
}

/** Chooses the way of a request: directly, every connection checked by the guard, or through a proxy. */
export class OutboundAgents {
  readonly #guard: SsrfGuard;
  readonly #direct: Dispatcher;
  readonly #proxy: { agent: Dispatcher; uri: string } | null;
  readonly #exceptions: readonly string[];

  constructor({ policy, proxy, environment, resolve }: OutboundOptions) {
    this.#guard = new SsrfGuard(policy);
    this.#direct = createGuardedAgent({
      guard: this.#guard,
      connectionsPerOrigin: CONNECTIONS_PER_HOST,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      ...(resolve === undefined ? {} : { resolve }),
    });
    const uri = proxy ?? environment.proxy;
    const limits = { headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: 32 * 1024 };
    this.#proxy = uri === null ? null : { uri, agent: new ProxyAgent({ uri, proxyTunnel: true, ...limits }) };
    // A proxy that is named here applies to every host.
    this.#exceptions =
      proxy === null
        ? environment.noProxy
            .toLowerCase()
            .split(/[\s,]+/)
            .filter((each) => each !== '')
        : [];
  }

  /** Returns the way to a URL, or why none may be taken. The proxy resolves names: here only their spelling is checked. */
  of(url: URL): { agent: Dispatcher } | { refusal: string } {
    if (this.#proxy === null || this.#isException(url.hostname)) return { agent: this.#direct };
    const refusal = this.#guard.refuseHost(url.hostname);
    return refusal === null ? { agent: this.#proxy.agent } : { refusal };
  }

  /** Returns the address of the proxy that leads to a URL; null if none does. */
  proxyOf(url: URL): string | null {
    return this.#proxy === null || this.#isException(url.hostname) ? null : this.#proxy.uri;
  }

  async close(): Promise<void> {
    await this.#direct.destroy();
    await this.#proxy?.agent.destroy();
  }

  /** As in the environment of most tools: a name stands for itself and what is below it, `*` for everything. */
  #isException(host: string): boolean {
    return this.#exceptions.some((each) => {
      const name = each.replace(/:\d+$/, '').replace(/^\*?\./, '');
      return each === '*' || host === name || host.endsWith(`.${name}`);
    });
  }
}
