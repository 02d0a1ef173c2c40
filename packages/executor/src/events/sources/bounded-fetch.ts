import type { Clock } from '@heddle/base/clock';
import { CodeFault } from '../code-fault.ts';

const REDIRECTS_MAX = 3;

export interface BoundedFetchOptions {
  bytesMax: number;
  /** Time limit without receiving any bytes, headers included. */
  stallMs: number;
  clock: Clock;
  signal: AbortSignal;
  accept: string;
  /** Sent as a bearer token; redirects cannot leave the origin. */
  token: string | null;
}

/**
 * Fetches a body within limits. Redirects must stay on the same origin, so that a response cannot direct requests to
 * other machines.
 *
 * @throws CodeFault, or the signal's reason
 */
export async function fetchBounded(address: URL, options: BoundedFetchOptions): Promise<Buffer> {
  const stall = new AbortController();
  const watch = new StallWatch(options, () => stall.abort(new CodeFault('the registry stopped responding')));
  const signal = AbortSignal.any([options.signal, stall.signal]);
  try {
    const response = await fetchFollowing(address, { accept: options.accept, token: options.token, signal, watch });
    return await bodyOf(response, options.bytesMax, watch);
  } catch (error) {
    if (options.signal.aborted) throw options.signal.reason;
    if (stall.signal.aborted) throw stall.signal.reason;
    if (error instanceof CodeFault) throw error;
    throw new CodeFault('the registry cannot be reached', error);
  } finally {
    watch.end();
  }
}

interface FetchContext {
  accept: string;
  token: string | null;
  signal: AbortSignal;
  watch: StallWatch;
}

async function fetchFollowing(address: URL, { accept, token, signal, watch }: FetchContext): Promise<Response> {
  let at = address;
  const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    // Identity encoding: compressed transfers would be unpacked before their bytes are counted.
    const headers = { accept, 'accept-encoding': 'identity', 'user-agent': 'heddle', ...authorization };
    const response = await fetch(at, { redirect: 'manual', headers, signal });
    watch.progressed();
    const location = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || location === null) return accepted(response);
    await response.body?.cancel();
    const next = URL.parse(location, at.href);
    if (next?.origin !== address.origin) throw new CodeFault('the registry redirected to another host');
    at = next;
  }
  throw new CodeFault(`the registry redirected more than ${REDIRECTS_MAX} times`);
}

async function accepted(response: Response): Promise<Response> {
  if (response.status === 200) return response;
  await response.body?.cancel();
  throw new CodeFault(`the registry responded with status ${response.status}`);
}

async function bodyOf(response: Response, bytesMax: number, watch: StallWatch): Promise<Buffer> {
  const tooLarge = (): CodeFault => new CodeFault(`the registry sent more than ${bytesMax} bytes`);
  const announced = Number(response.headers.get('content-length') ?? 0);
  if (announced > bytesMax) {
    await response.body?.cancel();
    throw tooLarge();
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    watch.progressed();
    bytes += chunk.length;
    if (bytes > bytesMax) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Calls back after a period without received bytes. */
class StallWatch {
  readonly #options: Pick<BoundedFetchOptions, 'clock' | 'stallMs'>;
  readonly #onStall: () => void;
  #cancel: () => void;

  constructor(options: Pick<BoundedFetchOptions, 'clock' | 'stallMs'>, onStall: () => void) {
    this.#options = options;
    this.#onStall = onStall;
    this.#cancel = options.clock.after(options.stallMs, onStall);
  }

  progressed(): void {
    this.#cancel();
    this.#cancel = this.#options.clock.after(this.#options.stallMs, this.#onStall);
  }

  end(): void {
    this.#cancel();
  }
}
