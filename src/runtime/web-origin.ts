import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4 } from 'node:net';

/**
 * The names by which a listener on loopback is addressed: those of this machine, and those that were allowed. A web page can
 * make its own name lead to this machine (DNS rebinding), but it cannot change what browsers send as `Host`.
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
  return name
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}

/** Browsers themselves take `*.localhost` to loopback, whatever a name server says. */
function isLoopbackName(name: string): boolean {
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true;
  return isIPv4(name) && name.startsWith('127.');
}

/**
 * Whether a browser sends the request for a page of another site or another port. Programs that are no browsers send none of
 * these headers.
 *
 * @param ownOrigin under which the listener is reached where `Host` is not kept, as behind a proxy
 */
export function isCrossOrigin(headers: IncomingHttpHeaders, ownOrigin: string | null): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin, host } = headers;
  if (origin === undefined || origin === ownOrigin) return false;
  const given = URL.parse(origin);
  return given === null || given.host !== URL.parse(`${given.protocol}//${host}`)?.host;
}
