import { request } from 'undici';

import { BATCH_TAG } from './tags.ts';

const TOKEN_SECS = 21_600;
const TIMEOUT_MS = 2_000;
const TEXT_MAX = 4_096;

/** Where every instance on EC2 asks about itself. */
export const METADATA_URL = 'http://169.254.169.254';

export interface InstanceIdentity {
  readonly provider_id: string;
  /** The launch that it is of; null where the instance may not read its tags. */
  readonly batch_id: string | null;
  readonly address: string | null;
}

/** What an instance on EC2 can learn about itself. */
export class InstanceMetadata {
  readonly #url: string;
  readonly #now: () => number;
  #token: { text: string; until: number } | null = null;

  /** @param now monotonic milliseconds */
  constructor(url: string, now: () => number) {
    this.#url = url;
    this.#now = now;
  }

  /** @throws Error where this is no instance on EC2 */
  async identity(): Promise<InstanceIdentity> {
    const provider_id = await this.#read('/latest/meta-data/instance-id');
    if (provider_id === null) throw new Error('This instance does not know its id: is it on EC2?');
    const batch_id = await this.#read(`/latest/meta-data/tags/instance/${BATCH_TAG}`);
    return { provider_id, batch_id, address: await this.#read('/latest/meta-data/local-ipv4') };
  }

  /** Why it is about to be taken away, with the moment; null while nobody says so. */
  async interruption(): Promise<string | null> {
    const notice = await this.#read('/latest/meta-data/spot/instance-action');
    return notice === null ? null : `interrupted: ${notice.slice(0, 200)}`;
  }

  /** Null where there is nothing of the name. */
  async #read(path: string): Promise<string | null> {
    const { statusCode, body } = await request(this.#url + path, {
      headers: { 'x-aws-ec2-metadata-token': await this.#currentToken() },
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    const text = (await body.text()).slice(0, TEXT_MAX);
    if (statusCode === 404) return null;
    if (statusCode === 401) this.#token = null;
    if (statusCode !== 200) throw new Error(`The metadata of this instance answer with ${statusCode} to ${path}`);
    return text;
  }

  async #currentToken(): Promise<string> {
    if (this.#token !== null && this.#now() < this.#token.until) return this.#token.text;
    const { statusCode, body } = await request(`${this.#url}/latest/api/token`, {
      method: 'PUT',
      headers: { 'x-aws-ec2-metadata-token-ttl-seconds': String(TOKEN_SECS) },
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    const text = (await body.text()).slice(0, TEXT_MAX);
    if (statusCode !== 200) throw new Error(`The metadata of this instance gave no token (${statusCode})`);
    this.#token = { text, until: this.#now() + (TOKEN_SECS / 2) * 1000 };
    return text;
  }
}
