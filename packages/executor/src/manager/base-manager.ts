import { LogLimit } from '@heddle/base/log-limit';
import { Loop } from '@heddle/base/loop';
import { RemoteFailure } from '../protocol/codes.ts';
import { logTaskRejected } from '../observe/log-record.ts';
import type { DirectionKeys, Received } from '../security/port.ts';
import type { ManagerContext } from './context.ts';
import { acknowledge } from './methods/acknowledge.ts';
import { cancel } from './methods/cancel.ts';
import { findEvent, listEvents } from './methods/events.ts';
import { poll } from './methods/poll.ts';
import { status } from './methods/status.ts';
import { submit } from './methods/submit.ts';
import type { Health, RemoteManager, Reply } from './port.ts';
import { cleanUp } from './steps/cleanup.ts';
import { Dispatcher } from './steps/dispatch.ts';
import { failureAnswer, respond, type Answer } from './steps/respond.ts';
import { authenticate, type Asking } from './steps/validate.ts';

const CLEANUP_INTERVAL_MS = 1_000;

/** The engine behind all listeners: authenticates requests, runs tasks and responds. */
export class BaseManager implements RemoteManager {
  readonly #context: ManagerContext;
  readonly #dispatcher: Dispatcher;
  readonly #cleanup: Loop;
  readonly #openedAt: number;
  /** Limits log lines about unknown callers. */
  readonly #unknownCallerLines: LogLimit;

  constructor(context: ManagerContext) {
    const { clock, log } = context.options;
    this.#context = context;
    this.#dispatcher = new Dispatcher(context);
    this.#openedAt = clock.monotonic();
    this.#unknownCallerLines = new LogLimit(clock);
    this.#cleanup = new Loop({
      name: 'cleanup of remote tasks',
      intervalMs: CLEANUP_INTERVAL_MS,
      clock,
      log,
      runOnce: () => cleanUp(context, this.#dispatcher).then(() => 'idle'),
    });
  }

  get dispatcher(): Dispatcher {
    return this.#dispatcher;
  }

  /** Starts background work. */
  start(): void {
    this.#cleanup.start();
  }

  /** Handles any request. */
  async handle(received: Received, onProgress?: (reply: Reply) => void): Promise<Reply> {
    if (received.request.method === 'submit') return await this.handleTask(received, onProgress);
    const asking: Asking = { caller: null, eventName: null };
    try {
      const caller = await authenticate(this.#context, received, asking);
      this.#requireOpen();
      const answer = this.#dispatchMethod(received, caller);
      return respond(this.#context, received, caller.keys, answer instanceof Promise ? await answer : answer, 0);
    } catch (error) {
      return this.#refuse(received, asking, error);
    }
  }

  /** Handles a submission; replies with the task's outcome, or once the task is accepted. */
  async handleTask(received: Received, onProgress?: (reply: Reply) => void): Promise<Reply> {
    const asking: Asking = { caller: null, eventName: null };
    try {
      this.#requireOpen();
      const { answer, sequence } = await submit(this.#context, this.#dispatcher, received, asking, onProgress);
      return respond(this.#context, received, asking.caller!.keys, answer, sequence);
    } catch (error) {
      return this.#refuse(received, asking, error);
    }
  }

  health(): Health {
    const { options, settings, journal } = this.#context;
    const { failure } = journal;
    const draining = this.#dispatcher.isDraining;
    return {
      status: draining ? 'draining' : failure === null ? 'healthy' : 'degraded',
      workers: settings.workerCount,
      busy: this.#dispatcher.running,
      queue_depth: this.#dispatcher.pending,
      uptime_seconds: Math.floor((options.clock.monotonic() - this.#openedAt) / 1000),
      tier: settings.tier,
      listeners: options.listeners?.() ?? [],
      ...(failure === null ? {} : { reason: `journal writes fail: ${failure.message}` }),
    };
  }

  async drain(ms: number): Promise<void> {
    const late = new AbortController();
    const cancelTimer = this.#context.options.clock.after(ms, () => late.abort());
    await this.#dispatcher.drain(late.signal);
    cancelTimer();
    await this.#context.journal.flush();
  }

  async close(): Promise<void> {
    const { journal, closing, waits } = this.#context;
    closing.begin();
    this.#unknownCallerLines.flush();
    this.#dispatcher.close();
    await this.#cleanup.stop();
    await journal.close();
    closing.end();
    waits.close();
  }

  /** Rejects requests after closing, when nothing becomes durable and some answers would wait forever. */
  #requireOpen(): void {
    if (this.#context.closing.hasBegun) throw new RemoteFailure('SHUTTING_DOWN', undefined, { retryAfterSecs: 5 });
  }

  #dispatchMethod(received: Received, caller: NonNullable<Asking['caller']>): Answer | Promise<Answer> {
    const { method } = received.request;
    switch (method) {
      case 'poll':
        return poll(this.#context, received, caller);
      case 'cancel':
        return cancel(this.#context, this.#dispatcher, received, caller);
      case 'ack':
        return acknowledge(this.#context, received, caller);
      case 'events':
        return listEvents(this.#context, received, caller);
      case 'event':
        return findEvent(this.#context, received, caller);
      case 'status':
        return status(this.#context, received, caller, this.health());
      case 'submit':
        throw new Error('submissions are handled separately');
    }
  }

  /** Replies with the failure; signed if the key named by the request is known. */
  #refuse(received: Received, { caller, eventName }: Asking, error: unknown): Reply {
    const { audit, metrics, log } = this.#context.options;
    const { ingress, remoteAddress: remote_address } = received;
    const failure = error instanceof RemoteFailure ? error : new RemoteFailure('INTERNAL');
    if (failure !== error) log.error({ err: error, protocol: ingress }, 'could not handle a request');
    const { code, message } = failure;
    const client = caller?.client ?? null;
    metrics.error(code, ingress);
    audit.append({ action: 'rejected', client, ingress, remote_address, code, event_name: eventName });
    const rejected = { code, message, protocol: ingress, client_id: client, remote_address, event_name: eventName };
    logTaskRejected(log, rejected, this.#unknownCallerLines);
    const keys = caller?.keys ?? this.#keysOf(received, code);
    return respond(this.#context, received, keys, failureAnswer(this.#context, failure), 0);
  }

  /** Returns null for a malformed envelope, whose response is never signed. */
  #keysOf({ request }: Received, code: RemoteFailure['code']): DirectionKeys | null {
    return code === 'MALFORMED' ? null : this.#context.options.keys.find(request.key_id, request.client);
  }
}
