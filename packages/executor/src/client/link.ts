import { CircuitBreaker } from '@heddle/base/breaker';
import type { Clock } from '@heddle/base/clock';
import type { Random } from '@heddle/base/random';
import { messageOf } from '@heddle/base/thrown';
import type { SignedResponse } from '../protocol/envelope.ts';
import type { PendingResponse, RemoteMethod, StatusResponse } from '../protocol/messages.ts';
import { readAnswer, type Answers } from './answer.ts';
import { Connection } from './connection.ts';
import type { ClientSigner } from '../security/client-credentials.ts';
import type { Source } from './credentials.ts';
import { requireAuthentic, sealRequest } from './envelope.ts';
import { ForgedAnswer, RemoteCallFailure, UnsignedRefusal } from './failures.ts';
import type { EndpointState, OpenTransport } from './options.ts';
import { TransportFailure, type ClientTls, type Endpoint } from './port.ts';

export interface LinkOptions {
  readonly endpoint: Endpoint;
  readonly url: string;
  readonly signer: Source<ClientSigner>;
  readonly tls: Source<ClientTls | null>;
  readonly token: () => Promise<string | null>;
  readonly open: OpenTransport;
  readonly clock: Clock;
  readonly random: Random;
}

export interface LinkCall<Method extends RemoteMethod> {
  readonly method: Method;
  /** Encoded request payload. */
  readonly payload: Uint8Array;
  readonly signal: AbortSignal;
  readonly answerWithinMs: number;
  readonly traceparent?: string | null;
  readonly onProgress?: (answer: PendingResponse) => void;
}

/** Signatures per call: repeated if clocks differ or the network duplicated the request. */
const SIGNATURES_MAX = 3;
/** Clock offsets beyond this are ignored. */
const CLOCK_OFFSET_MAX_MS = 24 * 3600 * 1000;
const STATUS_WITHIN_MS = 5_000;
const ERROR_CHARACTERS_MAX = 500;
const NOTHING = Buffer.from('{}');

/** Client side of one endpoint: signs requests, verifies responses and tracks the endpoint's health. */
export class Link {
  readonly url: string;
  readonly endpoint: Endpoint;
  readonly #options: LinkOptions;
  readonly #connection: Connection;
  readonly #breaker: CircuitBreaker;
  #inFlight = 0;
  #clockOffsetMs: number | null = null;
  #answeredAt: number | null = null;
  /** Whether the last finished call got no response. */
  #isSuspect = false;
  #isStopping = false;
  #lastError: { at: number; message: string } | null = null;
  #status: StatusResponse | null = null;

  constructor(options: LinkOptions) {
    const { url, endpoint, tls, open, clock } = options;
    this.url = url;
    this.endpoint = endpoint;
    this.#options = options;
    this.#connection = new Connection({ endpoint, url, tls, open, clock });
    this.#breaker = new CircuitBreaker({
      enabled: true,
      failureThreshold: 2,
      failureWindowMs: 30_000,
      recoveryTimeoutMs: 1_000,
      successThreshold: 1,
      clock,
    });
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Milliseconds that the executor's clock is ahead; null before the first response. */
  get clockOffsetMs(): number | null {
    return this.#clockOffsetMs;
  }

  /** Suitability for new tasks; 0 is best. */
  get rank(): number {
    if (this.#breaker.state !== 'closed') return 4;
    if (this.#isStopping || this.#status?.status === 'draining') return 3;
    if (this.#isSuspect) return 2;
    return this.#status?.status === 'degraded' ? 1 : 0;
  }

  state(): EndpointState {
    return {
      endpoint: this.url,
      state: this.#stateName(),
      in_flight: this.#inFlight,
      answered_at: this.#answeredAt,
      last_error: this.#lastError,
      clock_offset_ms: this.#clockOffsetMs,
      status: this.#status,
    };
  }

  #stateName(): EndpointState['state'] {
    if (this.#isSuspect || this.#breaker.state !== 'closed') return 'unreachable';
    if (this.#answeredAt === null) return 'unknown';
    return this.#isStopping ? 'draining' : (this.#status?.status ?? 'healthy');
  }

  /**
   * Makes one call. Unless it is a submission, it is signed again if the executor reports it as expired or replayed.
   *
   * @throws RemoteCallFailure from the executor; UnsignedRefusal; ForgedAnswer; TransportFailure; the signal's reason
   */
  async call<Method extends RemoteMethod>(call: LinkCall<Method>): Promise<Answers[Method]> {
    call.signal.throwIfAborted();
    this.#inFlight += 1;
    try {
      for (let signatures = 1; ; signatures += 1) {
        try {
          return await this.#exchange(call);
        } catch (error) {
          if (signatures === SIGNATURES_MAX || !isFixedBySigning(call.method, error)) throw error;
        }
      }
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** Requests the executor's status. Never throws; `state()` shows the result. */
  async probe(signal: AbortSignal): Promise<void> {
    const ask = (): Promise<StatusResponse> =>
      this.#callOnce({ method: 'status', payload: NOTHING, signal, answerWithinMs: STATUS_WITHIN_MS });
    // A probe that the breaker blocks is repeated later; failures are recorded in `#noteFailure`.
    await this.#breaker.run(ask, isUnreachable).then(
      (status) => (this.#status = status),
      () => undefined,
    );
  }

  async status(signal: AbortSignal): Promise<StatusResponse> {
    this.#status = await this.call({ method: 'status', payload: NOTHING, signal, answerWithinMs: STATUS_WITHIN_MS });
    return this.#status;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #exchange<Method extends RemoteMethod>(call: LinkCall<Method>): Promise<Answers[Method]> {
    try {
      const answer = await this.#callOnce(call);
      this.#recordOutcome(true);
      return answer;
    } catch (error) {
      if (!call.signal.aborted) this.#recordOutcome(!isUnreachable(error));
      throw error;
    }
  }

  async #callOnce<Method extends RemoteMethod>(call: LinkCall<Method>): Promise<Answers[Method]> {
    try {
      const answer = await this.#connection.use(async (transport) => {
        const signer = await this.#options.signer.current();
        const token = await this.#options.token();
        call.signal.throwIfAborted();
        const { clock, random } = this.#options;
        const timestampMs = Math.round(clock.now() + (this.#clockOffsetMs ?? 0));
        const request = sealRequest(signer, call.method, call.payload, { timestampMs, random });
        const reader = new AnswerReader(call.method, this.url, (response) => {
          requireAuthentic(response, request, signer, this.url);
          this.#learnClock(response);
        });
        const onProgress = progressReader(call, reader);
        const response = await withinTime(call, clock, (signal) =>
          transport.call(request, { signal, token, traceparent: call.traceparent ?? null, ...onProgress }),
        );
        return reader.read(response);
      });
      this.#noteAnswer();
      if (call.method === 'status') this.#isStopping = false;
      return answer;
    } catch (error) {
      if (!call.signal.aborted) this.#noteFailure(error);
      throw error;
    }
  }

  /** Responses are signed right before they are sent, regardless of the duration of the call. */
  #learnClock({ timestamp_ms }: SignedResponse): void {
    const offsetMs = timestamp_ms - this.#options.clock.now();
    if (Math.abs(offsetMs) <= CLOCK_OFFSET_MAX_MS) this.#clockOffsetMs = Math.round(offsetMs);
  }

  #noteAnswer(): void {
    this.#answeredAt = this.#options.clock.now();
    this.#isSuspect = false;
  }

  #noteFailure(error: unknown): void {
    if (error instanceof RemoteCallFailure) {
      if (!(error instanceof UnsignedRefusal)) this.#noteAnswer();
      if (error.code === 'SHUTTING_DOWN') this.#isStopping = true;
      // A task's outcome says nothing about the executor's health.
      if (error.correlationId !== null) return;
    }
    this.#isSuspect ||= isUnreachable(error);
    const text = error instanceof RemoteCallFailure ? `${error.code}: ${error.message}` : messageOf(error);
    this.#lastError = { at: this.#options.clock.now(), message: text.slice(0, ERROR_CHARACTERS_MAX) };
  }

  #recordOutcome(isGood: boolean): void {
    const result = isGood ? Promise.resolve() : Promise.reject(new Error('no answer'));
    result.catch(() => undefined);
    this.#breaker
      .run(
        () => result,
        () => true,
      )
      .catch(() => undefined);
  }
}

/** Reads the responses to one request and enforces increasing sequence numbers. */
class AnswerReader<Method extends RemoteMethod> {
  readonly #method: Method;
  readonly #url: string;
  readonly #check: (response: SignedResponse) => void;
  #sequence = -1;

  constructor(method: Method, url: string, check: (response: SignedResponse) => void) {
    this.#method = method;
    this.#url = url;
    this.#check = check;
  }

  read(response: SignedResponse): Answers[Method] {
    this.#check(response);
    if (response.sequence <= this.#sequence) throw new ForgedAnswer('its sequence number does not increase');
    this.#sequence = response.sequence;
    return readAnswer(this.#method, response, this.#url);
  }
}

/** Ignores invalid progress responses; the final response decides. */
function progressReader<Method extends RemoteMethod>(
  { onProgress }: LinkCall<Method>,
  reader: AnswerReader<Method>,
): { onProgress?: (response: SignedResponse) => void } {
  if (onProgress === undefined) return {};
  return {
    onProgress: (response) => {
      try {
        const answer = reader.read(response) as Answers[RemoteMethod];
        if (answer.status === 'pending' || answer.status === 'running') onProgress(answer);
      } catch {
        // An unverified response carries no information.
      }
    },
  };
}

/** Runs a call with a time limit; settles on abort even if the transport does not. */
async function withinTime<T>(
  { signal, answerWithinMs }: Pick<LinkCall<RemoteMethod>, 'signal' | 'answerWithinMs'>,
  clock: Clock,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const onAbort = (): void => limit.abort(signal.reason);
  // Created lazily: constructing an error costs more than everything else here.
  const onLate = (): void => limit.abort(new TransportFailure(`no response within ${answerWithinMs / 1000} s`, true));
  signal.addEventListener('abort', onAbort, { once: true });
  const cancelTimer = clock.after(answerWithinMs, onLate);
  try {
    const ended = new Promise<never>((_resolve, reject) => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the aborter chooses the reason
      limit.signal.addEventListener('abort', () => reject(limit.signal.reason), { once: true });
    });
    return await Promise.race([run(limit.signal), ended]);
  } catch (error) {
    signal.throwIfAborted();
    limit.signal.throwIfAborted();
    if (error instanceof TransportFailure || error instanceof ForgedAnswer) throw error;
    throw new TransportFailure(messageOf(error), true, error);
  } finally {
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Excludes submissions: if one was expired or replayed, another copy may have arrived, and the caller must know.
 */
function isFixedBySigning(method: RemoteMethod, error: unknown): boolean {
  if (method === 'submit' || !(error instanceof RemoteCallFailure) || error instanceof UnsignedRefusal) return false;
  return error.code === 'EXPIRED' || error.code === 'REPLAYED';
}

/** Returns whether a failure is the endpoint's rather than the call's. */
function isUnreachable(error: unknown): boolean {
  return error instanceof TransportFailure || error instanceof ForgedAnswer;
}
