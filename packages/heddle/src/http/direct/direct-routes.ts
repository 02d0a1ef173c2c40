import type { IncomingMessage, ServerResponse } from 'node:http';

import { grants } from '@heddle/core/domain/token';
import { parseStrictJson } from '@heddle/base/json/parse';
import { isUnrecorded, recordOf } from '../audit.ts';
import { admitToken } from '../auth.ts';
import { limitsOf } from '../body-limits.ts';
import type { Call, CallReply } from '../call.ts';
import { callerTrace, recordResponse } from '../observe.ts';
import { countRequest } from '../pipelining.ts';
import { newRequestState, type RequestState, type RouteConfig } from '../request-state.ts';
import type { RouteContext } from '../routes/context.ts';
import { countProgress, PROGRESS_ROUTE } from '../routes/report.ts';
import { submit, SUBMIT_ROUTE } from '../routes/submit.ts';
import { requireFit } from '../validation/check.ts';
import { ProgressDto } from '../wire/update.ts';
import { DirectReply } from './direct-reply.ts';
import { handOver } from './handed-over.ts';
import { PlainRequests } from './plain-requests.ts';
import { readBody } from './read-body.ts';

type Framework = (request: IncomingMessage, response: ServerResponse) => void;

interface DirectRoute {
  config: RouteConfig;
  createsBatch?: true;
  run: (call: Call, reply: CallReply) => Promise<unknown>;
}

const SUBMIT_CONFIG: RouteConfig = { ...SUBMIT_ROUTE.config, method: SUBMIT_ROUTE.method, url: SUBMIT_ROUTE.url };
const PROGRESS_CONFIG: RouteConfig = {
  ...PROGRESS_ROUTE.config,
  method: PROGRESS_ROUTE.method,
  url: PROGRESS_ROUTE.url,
};

const TASK_PATH = /^\/task\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/**
 * Serves the routes that programs call most without the framework, which costs more than all that they do: it only reads,
 * authorizes and answers plain requests, with the parser, the checks and the handlers of the framework's routes. All
 * others, and all failures, are handed over to the framework.
 */
export class DirectRoutes {
  readonly #context: RouteContext;
  readonly #plain: PlainRequests;

  constructor(context: RouteContext) {
    this.#context = context;
    this.#plain = new PlainRequests(context.config);
  }

  /** Serves the request, or has the framework serve it. */
  handle(request: IncomingMessage, response: ServerResponse, framework: Framework): void {
    const route = this.#routeOf(request);
    const { streams, tracing } = this.#context;
    if (route === null || tracing.enabled || streams.closing || !this.#plain.has(request.headers)) {
      framework(request, response);
    } else if (countRequest(request.socket, response)) void this.#serve(route, request, response, framework);
    else request.socket.destroy();
  }

  #routeOf({ method, url }: IncomingMessage): DirectRoute | null {
    if (method === 'POST' && url === SUBMIT_ROUTE.url)
      return { config: SUBMIT_CONFIG, createsBatch: true, run: (call, reply) => submit(call, reply, this.#context) };
    if (method !== 'PUT') return null;
    const id = TASK_PATH.exec(url!)?.[1];
    if (id === undefined) return null;
    return { config: PROGRESS_CONFIG, run: (call, reply) => this.#progress(id, call, reply) };
  }

  #progress(id: string, call: Call, reply: CallReply): Promise<unknown> {
    return countProgress(id, requireFit(ProgressDto, call.body), call, reply, this.#context);
  }

  async #serve(
    { config, createsBatch, run }: DirectRoute,
    request: IncomingMessage,
    response: ServerResponse,
    framework: Framework,
  ): Promise<void> {
    const { clock } = this.#context;
    const state = newRequestState(clock.monotonic(), config);
    try {
      state.traceparent = callerTrace(request);
      if (!(await this.#isAdmitted(request, state))) {
        handOver(request, { state });
        framework(request, response);
        return;
      }
      if (createsBatch) state.batchId = this.#context.newId();
      const bytes = await readBody(request);
      const { bodyRoot = '', bodyDepth, body: limits } = config;
      const body = bytes.length === 0 ? undefined : parseStrictJson(bytes, bodyRoot, bodyDepth, limitsOf(limits));
      const reply = new DirectReply();
      const answer = await run(
        {
          headers: request.headers,
          heddle: state,
          body,
          query: {},
          ip: request.socket.remoteAddress,
        },
        reply,
      );
      await this.#audit(request, state, reply.statusCode);
      reply.write(response, answer);
      recordResponse(this.#context, request, state, reply.statusCode);
    } catch (failure) {
      if (response.headersSent) {
        this.#context.log.error({ err: failure, route: config.url, method: config.method }, 'response failed');
        response.destroy();
        return;
      }
      handOver(request, { state, failure });
      framework(request, response);
    }
  }

  async #audit({ method, socket }: IncomingMessage, heddle: RequestState, status: number): Promise<void> {
    const call = { method: method!, heddle };
    if (!isUnrecorded(call, status)) return;
    const object = heddle.created ?? heddle.batchId;
    await this.#context.audit.record(recordOf(call, { object, status, address: socket.remoteAddress ?? null }));
  }

  /** Where tokens are required, a request that has none which suffices is refused by the framework. */
  async #isAdmitted(request: IncomingMessage, state: RequestState): Promise<boolean> {
    const { config, gate, runners } = this.#context;
    if (!config.authRequired) return true;
    if (runners.isPresented(request)) return false;
    const token = await gate.presented(request);
    const { scope } = state.route;
    if (token === null || !grants(token.scopes, scope!)) return false;
    admitToken(state, token);
    return true;
  }
}
