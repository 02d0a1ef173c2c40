import { errors, request } from 'undici';
import type { Dispatcher } from 'undici';
import type { Clock } from '../clock.ts';
import { SsrfRefusal } from './ssrf.ts';

export interface OutboundRequest {
  url: URL;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';
  headers: Record<string, string>;
  body: string | null;
}

/** Maximum bytes of a response body that are read by default. */
export const ANSWER_BYTES_MAX = 64 * 1024;

export interface Answer {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body as a string, as much as was read; empty if it is not text. */
  text: string;
  /** Why the body is incomplete. */
  cut: 'size' | 'time' | 'broken' | null;
}

/**
 * Why there was no response. `stopped`: this process aborted the request. `refused` and `unsendable`: a retry cannot
 * help.
 */
export type SendFailure = {
  failure: 'timeout' | 'network' | 'refused' | 'unsendable' | 'stopped';
  error: string;
};

export interface SendLimits {
  /** Timeout for connecting, headers and body together, milliseconds. */
  limitMs: number;
  clock: Clock;
  /** Aborts the request. */
  stop?: AbortSignal | undefined;
  answerBytesMax?: number;
}

/** Sends a request once and reads its response, within one timeout. Never throws for failures of the target. */
export async function sendRequest(
  outbound: OutboundRequest,
  agent: Dispatcher,
  { limitMs, clock, stop, answerBytesMax = ANSWER_BYTES_MAX }: SendLimits,
): Promise<Answer | SendFailure> {
  const abort = new AbortController();
  let ended: 'time' | 'stopped' | null = null;
  const end = (why: 'time' | 'stopped'): void => {
    ended ??= why;
    abort.abort();
  };
  const onStop = (): void => end('stopped');
  if (stop?.aborted === true) onStop();
  stop?.addEventListener('abort', onStop, { once: true });
  const cancelTimer = clock.after(limitMs, () => end('time'));
  const whyEnded = (): typeof ended => ended;
  try {
    const answer = await requestAnswer(outbound, agent, abort.signal);
    return await readAnswer(answer, answerBytesMax, () => whyEnded() !== null);
  } catch (error) {
    if (whyEnded() === 'stopped') return { failure: 'stopped', error: 'the server stopped during this try' };
    if (whyEnded() === 'time') return { failure: 'timeout', error: `no response within ${seconds(limitMs)}` };
    return explain(error);
  } finally {
    cancelTimer();
    stop?.removeEventListener('abort', onStop);
  }
}

/** A kept-alive connection that the target closed just as it was reused is not the target's failure: retry once. */
async function requestAnswer(
  { url, method, headers, body }: OutboundRequest,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const options = { dispatcher, method, headers, body, signal };
  try {
    return await request(url, options);
  } catch (error) {
    const wasReused = error instanceof errors.SocketError && (error.socket?.bytesRead ?? 0) > 0;
    if (!wasReused || signal.aborted) throw error;
    return request(url, options);
  }
}

function seconds(ms: number): string {
  return ms >= 1000 ? `${Math.round(ms / 1000)} s` : `${ms} ms`;
}

/** The status decides: a truncated body does not change it. */
async function readAnswer(
  answer: Dispatcher.ResponseData,
  bytesMax: number,
  outOfTime: () => boolean,
): Promise<Answer> {
  const chunks: Buffer[] = [];
  let size = 0;
  let cut: Answer['cut'] = null;
  // Destroying an unread body reports a spurious abort.
  answer.body.on('error', () => undefined);
  try {
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > bytesMax) {
        cut = 'size';
        break;
      }
    }
  } catch {
    cut = outOfTime() ? 'time' : 'broken';
  }
  const bytes = Buffer.concat(chunks).subarray(0, bytesMax);
  const { statusCode: status, headers } = answer;
  return { status, headers, text: isText(headers) ? bytes.toString('utf8') : '', cut };
}

function isText(headers: Answer['headers']): boolean {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') return false;
  const type = headers['content-type'];
  if (type === undefined) return true;
  return /^\s*(text\/|application\/([\w.-]+\+)?(json|xml)\b)/i.test(String(type));
}

const NETWORK_FAILURES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection closed while sending',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name temporarily unresolvable',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  EADDRNOTAVAIL: 'address not available',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  UND_ERR_PRX_CONN: 'the proxy could not connect',
  UND_ERR_SOCKET: 'connection closed before a response',
  UND_ERR_HEADERS_OVERFLOW: 'the response headers are too large',
};

/** Converts errors of undici and the sockets to one short sentence without addresses or header values. */
function explain(error: unknown): SendFailure {
  if (error instanceof SsrfRefusal) return { failure: 'refused', error: error.message };
  if (error instanceof errors.InvalidArgumentError) {
    return { failure: 'unsendable', error: `the request cannot be sent: ${error.message}` };
  }
  // undici has no class of its own for the answer of a proxy.
  if (error instanceof errors.RequestAbortedError && error.message.startsWith('Proxy response'))
    return { failure: 'network', error: 'the proxy could not connect' };
  if (error instanceof errors.HTTPParserError) return { failure: 'network', error: 'the response is not valid HTTP' };
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  if (code === undefined) return { failure: 'network', error: error instanceof Error ? error.name : 'unknown failure' };
  const known = NETWORK_FAILURES[code];
  if (known !== undefined) return { failure: 'network', error: `${known} (${code})` };
  if (/CERT|TLS|SSL|SELF_SIGNED|ISSUER/.test(code)) return { failure: 'network', error: `TLS failed (${code})` };
  return { failure: 'network', error: code };
}
