import { errorOf, HeddleApiError } from './error.ts';
import { readEvents } from './event-stream.ts';
import type { ClientOptions, Transport } from './transport.ts';

const RECONNECT_MS = 1000;
const RECONNECT_MAX_MS = 15_000;

/**
 * Follows a stream of `change` events to its `end`. Resumes a broken stream where it stopped if `sleep` is given; an
 * event may be repeated, but none is missed.
 */
export async function* follow<Data>(
  transport: Transport,
  path: string,
  sleep: ClientOptions['sleep'],
  signal: AbortSignal | undefined,
): AsyncGenerator<{ type: 'change' | 'end' } & Data> {
  let cursor: string | undefined;
  let failures = 0;
  while (!isAborted(signal)) {
    try {
      const headers = { accept: 'text/event-stream', 'last-event-id': cursor };
      const response = await transport.send('GET', path, { headers, ...(signal === undefined ? {} : { signal }) });
      if (response.body === null) throw await errorOf(response);
      for await (const event of readEvents(response.body as ReadableStream<Uint8Array>)) {
        failures = 0;
        if (event.id !== null) cursor = event.id;
        const type = event.name === 'end' ? 'end' : 'change';
        yield { type, ...(JSON.parse(event.data) as Data) };
        if (type === 'end') return;
      }
    } catch (error) {
      if (isAborted(signal)) return;
      if (isFinal(error) || sleep === undefined) throw error;
    }
    if (sleep === undefined) return;
    failures += 1;
    await sleep(Math.min(RECONNECT_MS * 2 ** (failures - 1), RECONNECT_MAX_MS), signal);
  }
}

/** A rejection that would be the same on the next try. */
function isFinal(error: unknown): boolean {
  return error instanceof HeddleApiError && error.status < 500 && error.status !== 429;
}

/** A function, because the signal changes while others run. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted ?? false;
}
