import type { IncomingHttpHeaders } from 'node:http';
import { bareHost } from './net/address.ts';
import { isLoopbackHost } from './net/classify.ts';

/**
 * Host names accepted by a loopback listener: those of this machine, and those that were allowed. A web page can make
 * its own name resolve to this machine (DNS rebinding), but it cannot change the `Host` that browsers send.
 */
export class KnownHosts {
  readonly #allowed: ReadonlySet<string>;

  /** @param allowed names or addresses without a port, beside those of loopback */
  constructor(allowed: readonly string[]) {
    this.#allowed = new Set(allowed.map(bareName));
  }

  /** @param host the `Host` header */
  has(host: string | undefined): boolean {
    const [, name] = /^(\[[0-9a-f:.]+\]|[^\s:/@[\]]+)(?::\d{1,5})?$/i.exec(host ?? '') ?? [];
    if (name === undefined) return false;
    const bare = bareName(name);
    return isLoopbackName(bare) || this.#allowed.has(bare);
  }
}

function bareName(name: string): string {
  return bareHost(name).replace(/\.$/, '');
}

/** Browsers resolve `*.localhost` to loopback themselves, whatever DNS says. */
function isLoopbackName(name: string): boolean {
  return name.endsWith('.localhost') || isLoopbackHost(name);
}

/**
 * Returns whether a browser sends the request for a page of another site or port. Other clients send none of these
 * headers.
 *
 * @param ownOrigin origin of the listener if `Host` is not preserved, as behind a proxy
 */
export function isCrossOrigin(headers: IncomingHttpHeaders, ownOrigin: string | null): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin, host } = headers;
  if (origin === undefined || origin === ownOrigin) return false;
  const given = URL.parse(origin);
  return given === null || given.host !== URL.parse(`${given.protocol}//${host}`)?.host;
}
