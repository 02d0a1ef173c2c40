import { request } from 'undici';

import { BATCH_TAG } from './tags.ts';

const TOKEN_SECS = 21_600;
const TIMEOUT_MS = 2_000;
const TEXT_MAX = 4_096;

/** Metadata service of every EC2 instance. */
export const METADATA_URL = 'http://169.254.169.254';

export interface InstanceIdentity {
  readonly provider_id: string;
  /** Batch that launched the instance; null if the instance may not read its tags. */
  readonly batch_id: string | null;
  readonly address: string | null;
}

/** Client of the metadata service of an EC2 instance. */
export class InstanceMetadata {
  readonly #url: string;
  readonly #now: () => number;
  #token: { text: string; until: number } | null = null;

  /** @param now monotonic milliseconds */
  constructor(url: string, now: () => number) {
    this.#url = url;
    this.#now = now;
  }

  /** @throws Error if this is not an EC2 instance */
  async identity(): Promise<InstanceIdentity> {
    const provider_id = await this.#read('/latest/meta-data/instance-id');
    if (provider_id === null)
      throw new Error('The metadata service returned no instance ID; run this on an EC2 instance');
    const batch_id = await this.#read(`/latest/meta-data/tags/instance/${BATCH_TAG}`);
    return { provider_id, batch_id, address: await this.#read('/latest/meta-data/local-ipv4') };
  }

  /** Returns the interruption notice with its time; null if there is none. */
  async interruption(): Promise<string | null> {
    const notice = await this.#read('/latest/meta-data/spot/instance-action');
    return notice === null ? null : `interrupted: ${notice.slice(0, 200)}`;
  }

  /** Returns null if the path does not exist. */
  async #read(path: string): Promise<string | null> {
    const { statusCode, body } = await request(this.#url + path, {
      headers: { 'x-aws-ec2-metadata-token': await this.#currentToken() },
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    const text = (await body.text()).slice(0, TEXT_MAX);
    if (statusCode === 404) return null;
    if (statusCode === 401) this.#token = null;
    if (statusCode !== 200) throw new Error(`The instance metadata service answered ${path} with status ${statusCode}`);
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
    if (statusCode !== 200) throw new Error(`The instance metadata service returned no token (status ${statusCode})`);
    this.#token = { text, until: this.#now() + (TOKEN_SECS / 2) * 1000 };
    return text;
  }
}
