import type { FastifyRequest } from 'fastify';

import type { Clock } from '@heddle/base/clock';
import { HeddleError } from '@heddle/base/errors';
import { artifactSignature, verifyArtifactSignature } from '@heddle/base/signing';
import type { SigningKeys } from './ports.ts';

/** URLs that return the content of one artifact without a token, for a time: `?expires=…&signature=…`. */
export class SignedUrls {
  readonly #keys: SigningKeys;
  readonly #clock: Clock;
  readonly #hostUrl: string;

  constructor(keys: SigningKeys, clock: Clock, hostUrl: string) {
    this.#keys = keys;
    this.#clock = clock;
    this.#hostUrl = hostUrl;
  }

  async make(id: string, lifeSecs: number): Promise<{ url: string; expires_at: string }> {
    const expires = Math.floor(this.#clock.now() / 1000) + lifeSecs;
    const [key] = await this.#keys.keys('handle');
    const signature = artifactSignature(id, expires, key!);
    const url = `${this.#hostUrl.replace(/\/+$/, '')}/v1/artifacts/${id}/content?expires=${expires}&signature=${signature}`;
    return { url, expires_at: new Date(expires * 1000).toISOString() };
  }

  /** Returns whether the request is signed. An invalid signature is rejected even with a valid token. */
  async admit({ query, params }: FastifyRequest): Promise<boolean> {
    const { expires, signature } = query as Record<string, unknown>;
    if (expires === undefined && signature === undefined) return false;
    const id = (params as Record<string, string>)['artifact_id']?.toLowerCase() ?? '';
    const isComplete = typeof expires === 'string' && /^\d{1,12}$/.test(expires) && typeof signature === 'string';
    const keys = await this.#keys.keys('handle');
    if (!isComplete || !verifyArtifactSignature(id, Number(expires), signature, keys)) {
      throw refused('does not match this artifact; use the URL unchanged');
    }
    if (Number(expires) * 1000 <= this.#clock.now()) throw refused('has expired; ask for another URL');
    return true;
  }
}

function refused(reason: string): HeddleError {
  return new HeddleError('INVALID_HANDLE', undefined, { details: [`signature: ${reason}`] });
}
