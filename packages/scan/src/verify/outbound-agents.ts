import { ProxyAgent, type Dispatcher } from 'undici';

import { createGuardedAgent, type ResolveHost } from '@heddle/base/outbound/guarded-agent';
import { SsrfGuard } from '@heddle/base/outbound/ssrf';
import { policyOf, type VerifyOptions } from './options.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const CONNECTIONS_PER_HOST = 4;

/** Chooses the way of a request: directly, every connection checked by the guard, or through a proxy. */
export class OutboundAgents {
  readonly #guard: SsrfGuard;
  readonly #direct: Dispatcher;
  readonly #proxy: Dispatcher | null;
  readonly #exceptions: readonly string[];

  constructor(options: VerifyOptions, resolve?: ResolveHost) {
    this.#guard = new SsrfGuard(policyOf(options));
    this.#direct = createGuardedAgent({
      guard: this.#guard,
      connectionsPerOrigin: CONNECTIONS_PER_HOST,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      ...(resolve === undefined ? {} : { resolve }),
    });
    const { proxy, environment } = options;
    const uri = proxy ?? environment.proxy;
    this.#proxy =
      uri === null
        ? null
        : new ProxyAgent({ uri, proxyTunnel: true, headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: 32 * 1024 });
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
    return refusal === null ? { agent: this.#proxy } : { refusal };
  }

  async close(): Promise<void> {
    await this.#direct.destroy();
    await this.#proxy?.destroy();
  }

  /** As in the environment of most tools: a name stands for itself and what is below it, `*` for everything. */
  #isException(host: string): boolean {
    return this.#exceptions.some((each) => {
      const name = each.replace(/:\d+$/, '').replace(/^\*?\./, '');
      return each === '*' || host === name || host.endsWith(`.${name}`);
    });
  }
}
