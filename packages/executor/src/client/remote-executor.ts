import type { JsonObject, JsonValue } from '@heddle/base/json';
import { systemClock, type Clock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import { systemRandom, type Random } from '@heddle/base/random';
import type { EventSummary, RequestPayloads, StatusResponse, SuccessResponse } from '../protocol/messages.ts';
import { Acknowledgements } from './acknowledgements.ts';
import type { Answers } from './answer.ts';
import { CallScope } from './call-scope.ts';
import { Cancellations } from './cancellations.ts';
import { signerSource, tlsSource } from './credentials.ts';
import { endpointUrl, parseEndpoint } from './endpoint.ts';
import { Group } from './group.ts';
import { Link } from './link.ts';
import { openByProtocol } from './open-transport.ts';
import type {
  CallLimits,
  CancelAnswer,
  EndpointState,
  RemoteExecutorOptions,
  RemoteTask,
  SubmitOptions,
  TaskAnswer,
  TaskReference,
} from './options.ts';
import { encodePayload } from './payload.ts';
import { Submission, type Submitted } from './submission.ts';
import { submitRequestOf } from './submit-request.ts';
import { cancel, follow, isOutcome, poll } from './task-calls.ts';

const HEALTH_INTERVAL_MS = 5_000;
const RETRY_WINDOW_SECS = 300;
const ANSWER_WITHIN_MS = 15_000;
const ACKNOWLEDGE_LATER_MS = 60_000;
const CLOSE_WITHIN_MS = 5_000;

/**
 * Runs events on interchangeable executors. A task never runs twice, however often its submission is repeated. Failures
 * are a RemoteFailure with the executor's code, a TransportFailure if no executor responded, or the reason of the
 * signal that ended the call. Holds connections until closed.
 */
export class RemoteExecutor {
  readonly #group: Group;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #retryWindowMs: number;
  readonly #acknowledgements: Acknowledgements;
  readonly #cancellations: Cancellations;
  readonly #health: Loop | null;
  readonly #closing = new AbortController();

  /** @throws TypeError if an endpoint or the credentials are invalid */
  constructor(options: RemoteExecutorOptions) {
    const { endpoints, clock = systemClock, random = systemRandom, log = silentLogger, token } = options;
    if (endpoints.length === 0) throw new TypeError('endpoints: must contain at least one, such as grpc://HOST:PORT');
    const shared = {
      signer: signerSource(options.credentials, { clock, log }),
      tls: tlsSource(options.tls, { clock, log }),
      token: async () => (typeof token === 'function' ? token() : (token ?? null)),
      open: options.openTransport ?? openByProtocol,
      clock,
      random,
    };
    const urls = [...new Set(endpoints.map((each) => endpointUrl(parseEndpoint(each))))];
    this.#group = new Group(urls.map((url) => new Link({ ...shared, url, endpoint: parseEndpoint(url) })));
    this.#clock = clock;
    this.#random = random;
    this.#retryWindowMs = (options.retryWindowSecs ?? RETRY_WINDOW_SECS) * 1000;
    this.#acknowledgements = new Acknowledgements(clock);
    this.#cancellations = new Cancellations(clock, random);
    const intervalMs = options.healthIntervalMs ?? HEALTH_INTERVAL_MS;
    const runOnce = (signal: AbortSignal): Promise<'idle'> => this.#group.probe(signal).then(() => 'idle');
    this.#health = intervalMs === 0 ? null : new Loop({ name: 'health of executors', intervalMs, clock, log, runOnce });
  }

  /** Runs an event and resolves with its result. @throws RemoteFailure if the task failed */
  async submit<Result extends JsonValue = JsonValue>(
    event: string,
    args: JsonObject = {},
    options: SubmitOptions = {},
  ): Promise<Result> {
    using scope = this.#scope(options);
    const { acknowledge, onProgress } = options;
    // Only gRPC pushes progress during a call; other protocols poll for it.
    const isPushed = this.#group.links.every(({ endpoint }) => endpoint.protocol === 'grpc');
    const mode = onProgress === undefined || isPushed ? 'sync' : 'async';
    const { submitted, idempotencyKey } = await this.#submit(event, args, options, { mode, scope });
    const { link, answer } = submitted;
    if (answer.status === 'success') return this.#accept(link, answer, acknowledge) as Result;
    const { correlation_id: correlationId } = answer;
    return (await this.#result(link, { correlationId, idempotencyKey }, scope, options)) as Result;
  }

  /** Submits an event and resolves once it is accepted; the task is canceled if the call ends before that. */
  async submitAsync(event: string, args: JsonObject = {}, options: SubmitOptions = {}): Promise<RemoteTask> {
    using scope = this.#scope(options);
    const { submitted, idempotencyKey } = await this.#submit(event, args, options, { mode: 'async', scope });
    const { link, answer } = submitted;
    return this.#taskOf(link, { correlationId: answer.correlation_id, idempotencyKey }, options);
  }

  /** Returns the state of a task. @param options.waitSecs how long to wait for its end, 0 to 30 */
  async poll(task: TaskReference, options: CallLimits & { readonly waitSecs?: number } = {}): Promise<TaskAnswer> {
    using scope = this.#scope(options);
    const { correlationId, endpoint } = task;
    if (correlationId === undefined) throw new TypeError('poll: correlationId is required');
    const { signal } = scope;
    const { waitSecs = 0 } = options;
    return await this.#group.callHolder(endpoint, (link) => poll(link, correlationId, { signal, waitSecs }));
  }

  /** Cancels a task, or returns its outcome if it had already ended. @throws RemoteFailure NOT_FOUND */
  async cancel(task: TaskReference, options: CallLimits = {}): Promise<CancelAnswer> {
    using scope = this.#scope(options);
    const { correlationId: correlation_id, idempotencyKey: idempotency_key, endpoint } = task;
    const request = correlation_id === undefined ? { idempotency_key: idempotency_key ?? '' } : { correlation_id };
    return await this.#group.callHolder(endpoint, (link) => cancel(link, request, scope.signal));
  }

  /** Allows the executor to forget outcomes; returns the ids that it knew. */
  async acknowledge(
    correlationIds: readonly string[],
    options: CallLimits & { endpoint?: string } = {},
  ): Promise<string[]> {
    using scope = this.#scope(options);
    const payload = encodePayload({ correlation_ids: [...correlationIds] });
    const links = options.endpoint === undefined ? this.#group.links : [this.#group.linkOf(options.endpoint)];
    const call = { method: 'ack', payload, signal: scope.signal, answerWithinMs: ANSWER_WITHIN_MS } as const;
    const answers = await Promise.all(links.map((link) => link.call(call)));
    return answers.flatMap(({ acknowledged }) => acknowledged);
  }

  /** Lists the events that this client may submit. */
  async events(options: CallLimits = {}): Promise<EventSummary[]> {
    return (await this.#readAny('events', {}, options)).events;
  }

  /** Returns whether this client may submit the event, without submitting it. */
  async hasEvent(event: string, options: CallLimits = {}): Promise<boolean> {
    return (await this.#readAny('event', { event_name: event }, options)).exists;
  }

  /** Returns the status of the given endpoint, or of any. */
  async status(options: CallLimits & { endpoint?: string } = {}): Promise<StatusResponse> {
    if (options.endpoint === undefined) return this.#readAny('status', {}, options);
    using scope = this.#scope(options);
    return await this.#group.linkOf(options.endpoint).status(scope.signal);
  }

  /** Returns the last known state of each endpoint, without a call. */
  endpoints(): EndpointState[] {
    return this.#group.links.map((link) => link.state());
  }

  /** Probes each endpoint, then returns their states. */
  async checkEndpoints(options: CallLimits = {}): Promise<EndpointState[]> {
    using scope = this.#scope(options);
    await this.#group.probe(scope.signal);
    return this.endpoints();
  }

  /**
   * Ends calls in flight (their tasks continue), sends pending cancellations and acknowledgements, and closes
   * connections.
   */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new Error('the executor client is closed'));
    await Promise.all([
      this.#health?.stop(),
      this.#cancellations.close(CLOSE_WITHIN_MS),
      this.#acknowledgements.close(CLOSE_WITHIN_MS),
    ]);
    await this.#group.close();
  }

  #scope(limits: CallLimits): CallScope {
    this.#closing.signal.throwIfAborted();
    this.#health?.start();
    return new CallScope(limits, this.#closing.signal, this.#clock);
  }

  async #submit(
    event: string,
    args: JsonObject,
    options: SubmitOptions,
    { mode, scope }: { mode: 'sync' | 'async'; scope: CallScope },
  ): Promise<{ submitted: Submitted; idempotencyKey: string }> {
    const { onProgress, onRetry = null, traceparent = null } = options;
    const request = submitRequestOf(event, args, options, { mode, random: this.#random });
    const { signal, deadlineMs } = scope;
    const submission = new Submission({
      request,
      deadlineMs,
      traceparent,
      signal,
      onProgress: onProgress === undefined ? null : ({ progress }) => progress && onProgress(progress),
      onRetry,
      balance: this.#group.balance,
      clock: this.#clock,
      random: this.#random,
      retryWindowMs: this.#retryWindowMs,
    });
    const { idempotency_key: idempotencyKey } = request;
    this.#group.probeFailed(this.#closing.signal);
    try {
      return { submitted: await submission.run(), idempotencyKey };
    } catch (error) {
      if (signal.aborted) this.#abandon(submission.holder, { idempotencyKey });
      else this.#acknowledgeFailure(submission.holder, error, options.acknowledge);
      throw error;
    }
  }

  /** Waits for the end of an accepted task; cancels it if the call is aborted. */
  async #result(
    link: Link,
    task: { correlationId: string; idempotencyKey: string },
    { signal }: CallScope,
    { onProgress, onRetry, acknowledge }: Pick<SubmitOptions, 'onProgress' | 'onRetry' | 'acknowledge'>,
  ): Promise<JsonValue> {
    try {
      const answer = await follow(link, task.correlationId, {
        signal,
        clock: this.#clock,
        random: this.#random,
        retryWindowMs: this.#retryWindowMs,
        onProgress: onProgress === undefined ? null : ({ progress }) => progress && onProgress(progress),
        onRetry: onRetry ?? null,
      });
      return this.#accept(link, answer, acknowledge);
    } catch (error) {
      if (signal.aborted) this.#abandon(link, task);
      else this.#acknowledgeFailure(link, error, acknowledge);
      throw error;
    }
  }

  #taskOf(
    link: Link,
    task: { correlationId: string; idempotencyKey: string },
    { acknowledge }: Pick<SubmitOptions, 'acknowledge'>,
  ): RemoteTask {
    const reference = { ...task, endpoint: link.url };
    return {
      ...reference,
      result: async (options = {}) => {
        using scope = this.#scope(options);
        return await this.#result(link, task, scope, {
          ...options,
          ...(acknowledge === undefined ? {} : { acknowledge }),
        });
      },
      poll: (options) => this.poll(reference, options),
      cancel: (options) => this.cancel(reference, options),
    };
  }

  #accept(link: Link, answer: SuccessResponse, when: SubmitOptions['acknowledge']): JsonValue {
    this.#acknowledge(link, answer.correlation_id, when);
    return answer.result;
  }

  /** Acknowledges a failure that is a task's outcome, just like a result. */
  #acknowledgeFailure(link: Link | null, error: unknown, when: SubmitOptions['acknowledge']): void {
    if (link !== null && isOutcome(error)) this.#acknowledge(link, error.correlationId, when);
  }

  #acknowledge(link: Link, correlationId: string, when: SubmitOptions['acknowledge'] = 'now'): void {
    if (when === 'never') return;
    this.#acknowledgements.add(link, correlationId, when === 'later' ? ACKNOWLEDGE_LATER_MS : 0);
  }

  /** Leaves tasks running if the client itself is closed, because another client may poll for them. */
  #abandon(link: Link | null, task: { correlationId?: string; idempotencyKey: string }): void {
    if (link !== null && !this.#closing.signal.aborted) this.#cancellations.add(link, task);
  }

  async #readAny<Method extends 'events' | 'event' | 'status'>(
    method: Method,
    request: RequestPayloads[Method],
    options: CallLimits,
  ): Promise<Answers[Method]> {
    using scope = this.#scope(options);
    const { signal } = scope;
    this.#group.probeFailed(this.#closing.signal);
    const payload = encodePayload(request);
    return await this.#group.callAny({ method, payload, signal, answerWithinMs: ANSWER_WITHIN_MS });
  }
}
