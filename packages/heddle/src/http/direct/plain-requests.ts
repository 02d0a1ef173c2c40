import type { IncomingHttpHeaders } from 'node:http';

import { KnownHosts } from '@heddle/base/web-origin';
import type { HttpConfig } from '../ports.ts';

/** Longer bodies gain nothing from being served directly. */
const BODY_BYTES_MAX = 65_536;

const JSON_TYPES: ReadonlySet<string | undefined> = new Set([
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=utf-8',
]);

/**
 * Tells requests that need none of what only the framework does: they come from a program and not from a browser, have a
 * short body of JSON whose length is known, and name their caller by a token, if at all.
 */
export class PlainRequests {
  readonly #authRequired: boolean;
  readonly #hosts: KnownHosts | null;
  readonly #trustsProxies: boolean;
  readonly #bytesMax: number;

  constructor({ allowedHosts, authRequired, bodyLimitBytes, trustedProxies = [] }: HttpConfig) {
    this.#authRequired = authRequired;
    // Tokens protect from pages of other sites; without them names do.
    this.#hosts = authRequired || allowedHosts === undefined ? null : new KnownHosts(allowedHosts);
    this.#trustsProxies = trustedProxies.length > 0;
    this.#bytesMax = Math.min(bodyLimitBytes, BODY_BYTES_MAX);
  }

  has(headers: IncomingHttpHeaders): boolean {
    if (!JSON_TYPES.has(headers['content-type']) || !this.#hasShortBody(headers)) return false;
    if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined || headers.cookie !== undefined)
      return false;
    if (this.#trustsProxies && headers['x-forwarded-for'] !== undefined) return false;
    if (this.#authRequired !== (headers.authorization !== undefined)) return false;
    return this.#hosts === null || this.#hosts.has(headers.host);
  }

  #hasShortBody(headers: IncomingHttpHeaders): boolean {
    const length = headers['content-length'];
    return length !== undefined && headers['transfer-encoding'] === undefined && Number(length) <= this.#bytesMax;
  }
}
