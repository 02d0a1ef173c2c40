import { systemClock } from '@heddle/base/clock';
import { messageOf } from '@heddle/base/thrown';
import { credentialsOf, type BasicCredentials } from './credentials.ts';
import type { ImageReference } from './reference.ts';

/** A request waits this long for the beginning of its answer. */
const ANSWER_TIMEOUT_MS = 60_000;
/** A token of a registry is renewed when it is refused, so its lifetime does not matter. */
const TOKEN_BYTES_MAX = 64 * 1024;

/** An answer that is no success. */
export class RegistryRefusal extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.name = 'RegistryRefusal';
    this.status = status;
  }
}

/** Requests of one repository of a registry that speaks the distribution API, with the authorization that it demands. */
export class RegistryClient {
  readonly #reference: ImageReference;
  readonly #closed = new AbortController();
  #authorization: string | null = null;
  /** Why the credentials cannot be read. */
  #credentialsFault: string | null = null;
  /** Requests that find their authorization refused share one renewal. */
  #renewing: Promise<void> | null = null;

  constructor(reference: ImageReference) {
    this.#reference = reference;
  }

  /**
   * Requests `blobs/…` or `manifests/…`.
   * @throws RegistryRefusal with the remedy, or an Error if the registry cannot be reached
   */
  async get(path: string, headers: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Response> {
    const { origin, repository } = this.#reference;
    const url = `${origin}/v2/${repository}/${path}`;
    const before = this.#authorization;
    let response = await this.#send(url, headers, signal);
    if (response.status === 401) {
      const challenge = response.headers.get('www-authenticate') ?? '';
      await response.body?.cancel();
      if (this.#authorization === before) {
        this.#renewing ??= this.#authorize(challenge).finally(() => (this.#renewing = null));
        await this.#renewing;
      }
      response = await this.#send(url, headers, signal);
    }
    if (response.ok) return response;
    await response.body?.cancel();
    throw new RegistryRefusal(this.#adviceOf(response.status), response.status);
  }

  close(): void {
    this.#closed.abort();
  }

  #send(url: string, headers: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Response> {
    const authorization = this.#authorization;
    return this.#fetch(url, authorization === null ? headers : { ...headers, authorization }, signal);
  }

  /** Redirects to another host, as to a content store, lose the authorization: that is how `fetch` follows them. */
  async #fetch(url: string, headers: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Response> {
    const late = new AbortController();
    const cancel = systemClock.after(ANSWER_TIMEOUT_MS, () => late.abort(new Error('no answer within a minute')));
    const signals = [this.#closed.signal, late.signal, ...(signal === undefined ? [] : [signal])];
    try {
      return await fetch(url, { headers, signal: AbortSignal.any(signals) });
    } catch (error) {
      throw this.#unreachable(url, error);
    } finally {
      cancel();
    }
  }

  #unreachable(url: string, error: unknown): Error {
    const { cause } = error as Error;
    const why = messageOf(cause ?? error);
    return new Error(`${new URL(url).origin} cannot be reached: ${why}`, { cause: error });
  }

  async #authorize(challenge: string): Promise<void> {
    const credentials = this.#credentials();
    if (/^basic\b/i.test(challenge)) {
      if (credentials === null) throw new RegistryRefusal(this.#adviceOf(401), 401);
      this.#authorization = `Basic ${credentials}`;
      return;
    }
    this.#authorization = `Bearer ${await this.#fetchToken(challenge, credentials)}`;
  }

  /** Without credentials that can be read, public images can be read nevertheless. */
  #credentials(): BasicCredentials | null {
    try {
      return credentialsOf(this.#reference.registry);
    } catch (error) {
      this.#credentialsFault = messageOf(error);
      return null;
    }
  }

  async #fetchToken(challenge: string, credentials: BasicCredentials | null): Promise<string> {
    const { origin, registry, repository } = this.#reference;
    const parameters = parametersOf(challenge);
    const realm = URL.parse(parameters.get('realm') ?? '');
    if (!/^bearer\b/i.test(challenge) || realm === null)
      throw new Error(`${registry} demands an authorization that is not supported: ${challenge.slice(0, 200)}`);
    // Credentials that travel encrypted to the registry do so to the service of its tokens, too.
    if (realm.protocol !== 'https:' && (realm.protocol !== 'http:' || origin.startsWith('https:')))
      throw new Error(`${registry} names a service for tokens without TLS: ${realm.origin}; nothing was sent to it`);
    const service = parameters.get('service');
    if (service !== undefined) realm.searchParams.set('service', service);
    realm.searchParams.set('scope', parameters.get('scope') ?? `repository:${repository}:pull`);
    const response = await this.#fetch(
      realm.href,
      credentials === null ? {} : { authorization: `Basic ${credentials}` },
    );
    if (!response.ok) {
      await response.body?.cancel();
      throw new RegistryRefusal(this.#adviceOf(response.status), response.status);
    }
    const { token, access_token: other } = parsed(await bodyOf(response, TOKEN_BYTES_MAX)) as Record<string, unknown>;
    const given = token ?? other;
    if (typeof given !== 'string' || !/^[\x21-\x7e]+$/.test(given))
      throw new Error(`${realm.origin} answered without a token`);
    return given;
  }

  #adviceOf(status: number): string {
    const { registry, repository, version } = this.#reference;
    if (status === 401 || status === 403)
      return `${registry} denies access to ${repository}; ${this.#credentialsFault ?? 'log in with docker or podman, or set DOCKER_AUTH_CONFIG'}`;
    if (status === 404) return `${registry} has no ${repository}:${version}; check its name and tag`;
    if (status === 429) return `${registry} limits the rate of requests; log in, or try again later`;
    return `${registry} answered with status ${status}`;
  }
}

/** Returns a whole body, at most `bytesMax` of it. */
export async function bodyOf(response: Response, bytesMax: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const body = (response.body ?? []) as AsyncIterable<Uint8Array> | Uint8Array[];
  for await (const piece of body) {
    length += piece.length;
    if (length > bytesMax) throw new Error(`the answer has more than ${bytesMax} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function parsed(bytes: Buffer): object {
  try {
    return (JSON.parse(bytes.toString('utf8')) as object | null) ?? {};
  } catch {
    return {};
  }
}

/** Parses `Bearer realm="https://…",service="…"`. */
function parametersOf(challenge: string): Map<string, string> {
  const pairs = challenge.slice(0, 4096).matchAll(/([a-z_]+)=(?:"([^"]*)"|([^\s,"]+))/gi);
  return new Map(Array.from(pairs, ([, name = '', quoted, plain]) => [name.toLowerCase(), quoted ?? plain ?? '']));
}
