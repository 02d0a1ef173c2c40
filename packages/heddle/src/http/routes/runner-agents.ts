import type { FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import type { Orders } from '@heddle/core/pool/port/store';
import { disconnectSignalOf } from '../live/hang-up.ts';
import { WaitLimiter } from '../live/waiting-room.ts';
import { callerOf } from '../live/work-holders.ts';
import {
  AnsweredOrdersDto,
  AwaitOrdersDto,
  ClaimRunnerTaskDto,
  DrainRunnerDto,
  OrdersChangedDto,
  ordersToWire,
  RegisteredRunnerDto,
  RegisterRunnerDto,
  RunnerEpochDto,
  RunnerSignalDto,
} from '../wire/runner-agent.ts';
import { ClaimedWorkDto, workToWire } from '../wire/work.ts';
import type { App, RouteContext } from './context.ts';
import { NoQuery } from './parameters.ts';
import { describePool } from './pool-demand.ts';

const WAITING_MAX = 5_000;
/** Bounds the delay after a lost notification. */
const LOOK_MS = 10_000;
const PROBLEMS = [413, 415, 429];
/** For runners only, by their credential; heartbeats are not actions of a person. */
const asRunner = { scope: 'admin', runner: true, reportsWork: true } as const;

/** What agents of runners call. */
export function runnerAgentRoutes(app: App, context: RouteContext): void {
  registerRoute(app, context);
  heartbeatRoute(app, context);
  waitRoute(app, context);
  signalRoute(app, context, 'confirm');
  signalRoute(app, context, 'release');
  drainRoute(app, context);
  claimRoute(app, context);
}

/** @throws HeddleError UNAUTHENTICATED where no token is required, and none was given */
function runnerOf({ heddle: { runner } }: FastifyRequest): string {
  if (runner !== null) return runner;
  throw new HeddleError('UNAUTHENTICATED', undefined, {
    details: ['authorization: must be the credential that the runner got when it registered'],
  });
}

function registerRoute(app: App, { agents, runners }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/pool/agent/register',
    config: { scope: 'runner', runner: true },
    schema: {
      ...describePool({
        summary: 'Register a runner',
        description: `The credential in the response allows the calls of this runner, and reports on its task. A
runner process gets it from the server that launches it, and registers with it.`,
        scope: 'runner',
        answers: { 200: { description: 'Its orders.', schema: RegisteredRunnerDto } },
        problems: [403, ...PROBLEMS],
      }),
      querystring: NoQuery,
      body: RegisterRunnerDto,
    },
    handler: async ({ body, heddle }) => {
      const { runner_id = null, batch_id = null, provider_id, address = null } = body;
      const registration = { runner_id, batch_id, provider_id, address };
      const { classes, runner } = heddle;
      if (runner !== null) requireItself(runner, runner_id);
      if (classes !== null) requireClass(await agents.classOf(registration), classes);
      const orders = await agents.register(registration);
      const credential = orders === null ? null : await runners.make(orders.runner_id);
      return { orders: orders === null ? null : ordersToWire(orders), credential, ...agents.times };
    },
  });
}

function requireItself(runner: string, registered: string | null): void {
  if (registered === runner) return;
  throw new HeddleError('FORBIDDEN', 'The credential is that of another runner', {
    details: [`runner_id: must be ${runner}, whose credential this is; use a token to register others`],
  });
}

function requireClass(found: string | null, classes: readonly string[]): void {
  if (found === null || classes.includes(found)) return;
  throw new HeddleError('FORBIDDEN', `The token does not grant the class ${found}`, {
    details: [`authorization: the token may register runners of ${classes.join(', ')}, not of ${found}`],
  });
}

function heartbeatRoute(app: App, { agents }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/pool/agent/heartbeat',
    config: asRunner,
    schema: {
      ...describePool({
        summary: 'Send a heartbeat of a runner',
        scope: 'runner',
        answers: { 200: { description: 'Its orders.', schema: AnsweredOrdersDto } },
        problems: PROBLEMS,
      }),
      querystring: NoQuery,
    },
    handler: async (request) => {
      const orders = await agents.heartbeat(runnerOf(request));
      return { orders: orders === null ? null : ordersToWire(orders) };
    },
  });
}

function waitRoute(app: App, { agents, clock }: RouteContext): void {
  const room = new WaitLimiter({ max: WAITING_MAX, full: 'Too many runners are already waiting' });
  app.addHook('preClose', (done) => {
    room.close();
    done();
  });
  app.route({
    method: 'POST',
    url: '/v1/pool/agent/wait',
    config: asRunner,
    schema: {
      ...describePool({
        summary: 'Wait for orders of a runner',
        description: `Returns as soon as its orders differ from the given ones, or after \`wait_secs\`. An answer with
orders counts as a heartbeat.`,
        scope: 'runner',
        answers: { 200: { description: 'Its orders, if they differ.', schema: OrdersChangedDto } },
        problems: PROBLEMS,
      }),
      querystring: NoQuery,
      body: AwaitOrdersDto,
    },
    handler: async (request, reply) => {
      const id = runnerOf(request);
      const { wait_secs, ...known }: AwaitOrdersDto = request.body;
      const untilMs = clock.monotonic() + wait_secs * 1000;
      return room.wait(disconnectSignalOf(reply), async (stop) => {
        let rung = new AbortController();
        const ring = (): void => rung.abort();
        stop.addEventListener('abort', ring);
        const unsubscribe = agents.onOrders(id, ring);
        try {
          for (;;) {
            // Renewed before the look, so that a change during it leads to another.
            rung = new AbortController();
            if (isChanged(await agents.orders(id), known)) {
              const orders = await agents.heartbeat(id);
              return { changed: true, orders: orders === null ? null : ordersToWire(orders) };
            }
            const leftMs = untilMs - clock.monotonic();
            if (leftMs <= 0 || stop.aborted) return { changed: false, orders: null };
            await clock.sleep(Math.min(leftMs, LOOK_MS), rung.signal);
          }
        } finally {
          unsubscribe();
          stop.removeEventListener('abort', ring);
        }
      });
    },
  });
}

function isChanged(orders: Orders | null, known: Omit<AwaitOrdersDto, 'wait_secs'>): boolean {
  if (orders === null) return true;
  const { epoch, state, ready, draining, peers } = orders;
  return (
    epoch !== known.epoch ||
    state !== known.state ||
    ready !== known.ready ||
    draining !== known.draining ||
    peers.length !== known.peers
  );
}

const SIGNALS = {
  confirm: { summary: 'Confirm the claim of a runner', description: 'It is about to begin.' },
  release: { summary: 'Report that a runner is free', description: 'The work of the claim is done.' },
} as const;

function signalRoute(app: App, { agents }: RouteContext, verb: keyof typeof SIGNALS): void {
  app.route({
    method: 'POST',
    url: `/v1/pool/agent/${verb}`,
    config: asRunner,
    schema: {
      ...describePool({
        ...SIGNALS[verb],
        scope: 'runner',
        answers: { 200: { description: 'Whether it was applied.', schema: RunnerSignalDto } },
        problems: PROBLEMS,
      }),
      querystring: NoQuery,
      body: RunnerEpochDto,
    },
    handler: async (request) => ({ applied: await agents[verb](runnerOf(request), request.body.epoch) }),
  });
}

function drainRoute(app: App, { agents }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/pool/agent/drain',
    config: asRunner,
    schema: {
      ...describePool({
        summary: 'Report that a runner ends',
        description: 'It takes no more tasks, and ends when it is free.',
        scope: 'runner',
        answers: { 200: { description: 'Whether it was applied.', schema: RunnerSignalDto } },
        problems: PROBLEMS,
      }),
      querystring: NoQuery,
      body: DrainRunnerDto,
    },
    handler: async (request) => ({
      applied: (await agents.drain([runnerOf(request)], request.body.reason)) > 0,
    }),
  });
}

function claimRoute(app: App, { engine, agents }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/pool/agent/claim',
    config: asRunner,
    schema: {
      ...describePool({
        summary: 'Claim the task of a runner',
        description: 'The task runs as soon as it is claimed; report on it as workers do.',
        scope: 'runner',
        answers: { 200: { description: 'The task; empty if there is none.', schema: ClaimedWorkDto } },
        problems: PROBLEMS,
      }),
      querystring: NoQuery,
      body: ClaimRunnerTaskDto,
    },
    handler: async (request) => {
      const { lease_secs, holder: named } = request.body;
      const orders = await agents.orders(runnerOf(request));
      if (orders === null || orders.state === 'terminated') return { tasks: [] };
      const claimed = await engine.claim({
        lanes: [`runner:${orders.number}`],
        limit: 1,
        holder: callerOf(request, named).holder,
        lease_ms: lease_secs * 1000,
        traced: true,
      });
      return { tasks: claimed.map((task) => workToWire(task, named)) };
    },
  });
}
