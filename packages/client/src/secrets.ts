import type { RotatedSecretsDto, SecretDto } from './wire-types.ts';
import type { Transport } from './transport.ts';

/** Secrets that inputs and headers name; their values are never returned. */
export class SecretsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(): Promise<SecretDto[]> {
    return this.#transport.json('GET', '/v1/secrets');
  }

  /** @param grants kinds, and origins of webhooks; by default those that it has */
  set(name: string, value: string, grants?: readonly string[]): Promise<SecretDto> {
    return this.#transport.json('PUT', secretPath(name), {
      body: { value, ...(grants === undefined ? {} : { grants }) },
    });
  }

  async delete(name: string): Promise<void> {
    await this.#transport.send('DELETE', secretPath(name));
  }

  /** Encrypts all with the first key; returns how many had an older one. */
  async rotate(): Promise<number> {
    return (await this.#transport.json<RotatedSecretsDto>('POST', '/v1/secrets/rotate')).rotated;
  }
}

function secretPath(name: string): string {
  return `/v1/secrets/${encodeURIComponent(name)}`;
}
