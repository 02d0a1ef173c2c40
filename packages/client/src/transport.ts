import { errorOf } from './error.ts';

export interface ClientOptions {
  /** URL of the server, such as `http://127.0.0.1:8085`; or a function that returns the present one. */
  baseUrl: string | (() => string);
  /** Bearer token, if the server requires one; or a function that returns the present one. */
  token?: string | (() => string | undefined);
  fetch?: typeof fetch;
  /** Waits before a broken stream is reopened; without it, streams are not reopened. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestOptions {
  query?: QueryValues;
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  content?: ReadableStream<Uint8Array>;
  headers?: Readonly<Record<string, string | undefined>>;
  signal?: AbortSignal;
}

/** Sends requests and converts responses of status 400 and above to HeddleApiError. */
export class Transport {
  readonly #baseUrl: () => string;
  readonly #token: () => string | undefined;
  readonly #fetch: typeof fetch;

  constructor({ baseUrl, token, fetch: given }: ClientOptions) {
    this.#baseUrl = typeof baseUrl === 'function' ? baseUrl : () => baseUrl;
    this.#token = typeof token === 'function' ? token : () => token;
    this.#fetch = given ?? fetch;
  }

  async send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const headers = new Headers();
    for (const [name, value] of Object.entries(options.headers ?? {}))
      if (value !== undefined) headers.set(name, value);
    const token = this.#token();
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    if (options.body !== undefined) headers.set('content-type', 'application/json');
    if (options.content !== undefined) headers.set('content-type', 'application/octet-stream');
    const response = await this.#fetch(this.#address(path, options.query), {
      method,
      headers,
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.content === undefined ? {} : { body: options.content, duplex: 'half' as const }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    if (response.status >= 400) throw await errorOf(response);
    return response;
  }

  /** Reads a signed URL of another server, without the token. */
  async open(url: string): Promise<Response> {
    const response = await this.#fetch(url);
    if (response.status >= 400) throw await errorOf(response);
    return response;
  }

  async json<Answer>(method: string, path: string, options?: RequestOptions): Promise<Answer> {
    return (await (await this.send(method, path, options)).json()) as Answer;
  }

  #address(path: string, query: QueryValues = {}): string {
    const values = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    );
    const text = new URLSearchParams(values).toString();
    return `${this.#baseUrl().replace(/\/+$/, '')}${path}${text === '' ? '' : `?${text}`}`;
  }
}
