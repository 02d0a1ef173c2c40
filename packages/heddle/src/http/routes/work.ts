import { HeddleError } from '@heddle/base/errors';
import type { JsonValue } from '@heddle/base/json';
import { VALUE_DEPTH_MAX } from '@heddle/base/parse/json-value';
import { TREE_DEPTH_MAX } from '@heddle/core/domain/parse/tree';
import { Faults } from '@heddle/base/parse/faults';
import { placeOf } from '@heddle/base/parse/path';
import { readCreatedNode } from '@heddle/core/domain/parse/workflow';
import type { NewNode } from '@heddle/base/vocabulary/workflow';
import { requireKnownClasses } from '@heddle/core/engine/runners/check';
import type { Heartbeat, HeartbeatResult, Report, TransitionOutcome } from '@heddle/core/engine/port';
import { Coalescer } from '@heddle/base/coalescer';
import { MANY_NODES, ONE_RESULT } from '../body-limits.ts';
import { disconnectSignalOf } from '../live/hang-up.ts';
import { WorkerPresences } from '../live/worker-presences.ts';
import { WorkClaims } from '../live/work-claims.ts';
import { callerOf, requireKindsOfToken, staleAttempt, STOP, type WorkHolders } from '../live/work-holders.ts';
import {
  ClaimedWorkDto,
  ClaimWorkDto,
  CompleteWorkDto,
  CreateChildrenDto,
  createdChildToWire,
  CreatedChildrenDto,
  FailWorkDto,
  HeartbeatAnswerDto,
  LEASE_DEFAULT_SECS,
  LeaveWorkDto,
  ReleaseWorkDto,
  WorkHeartbeatDto,
  WorkOutcomeDto,
  workOutcomeToWire,
  workToWire,
} from '../wire/work.ts';
import { kindsIn, requireCommandScope } from '../submit/check-commands.ts';
import { requireAllowedAddresses } from '../submit/check-tree.ts';
import type { App, RouteContext } from './context.ts';
import { idOf, NoQuery } from './parameters.ts';
import { conflictWith, requireTask, taskNotFound } from './transitions.ts';
import { BODY_PROBLEMS, describeWork, onTask, type WorkRequest } from './work-task.ts';

/** Each level of a node is an object and its array of children, inside the document and its array of nodes. */
const CHILDREN_DEPTH_MAX = 2 * TREE_DEPTH_MAX + VALUE_DEPTH_MAX + 3;

/** For workers in any language: they claim tasks, send heartbeats, and report how the tasks ended. */
export function workRoutes(app: App, context: RouteContext): void {
  claimRoute(app, context);
  leaveRoute(app, context);
  heartbeatRoute(app, context);
  completeRoute(app, context);
  failRoute(app, context);
  releaseRoute(app, context);
  childrenRoute(app, context);
}

/** Returns the task of a worker's call if that worker claimed it. */
async function heldTask(
  holders: WorkHolders,
  request: WorkRequest,
  { attempt, holder }: { attempt: number; holder?: string },
): Promise<string> {
  const id = idOf(request.params);
  await holders.requireHeld(id, attempt, callerOf(request, holder));
  return id;
}

const OUTCOME = { 200: { description: 'Stored, now or by an earlier call.', schema: WorkOutcomeDto } };

const claimDescription = `The tasks run as soon as they are claimed. Each is leased for \`lease_secs\` after its claim and
after each heartbeat; when the lease expires, another worker can claim the task as its next attempt. If nothing
is ready the request waits up to \`wait_secs\`.`;

function claimRoute(app: App, { engine, clock }: RouteContext): void {
  const claims = new WorkClaims(engine, clock);
  const presences = new WorkerPresences(engine, clock);
  app.addHook('preClose', (done) => {
    claims.close();
    done();
  });
  app.route({
    method: 'POST',
    url: '/v1/work/claim',
    config: { scope: 'work' },
    schema: {
      ...describeWork({
        summary: 'Claim tasks to run',
        description: claimDescription,
        answers: { 200: { description: 'The tasks; empty if nothing became ready.', schema: ClaimedWorkDto } },
        problems: [413, 415, 429],
      }),
      querystring: NoQuery,
      body: ClaimWorkDto,
    },
    handler: async (request, reply) => {
      requireKindsOfToken(request.heddle.kinds, request.body.kinds);
      const { kinds, max = 1, lease_secs = LEASE_DEFAULT_SECS, wait_secs = 0, holder, worker } = request.body;
      if (worker !== undefined) await presences.note(callerOf(request, holder).holder, kinds, worker);
      const claimed = await claims.claim(
        {
          lanes: [...new Set(kinds)].map((kind) => `kind:${kind}`),
          limit: max,
          holder: callerOf(request, holder).holder,
          lease_ms: lease_secs * 1000,
          traced: true,
        },
        wait_secs * 1000,
        disconnectSignalOf(reply),
      );
      // A keep-alive connection would keep the server from closing.
      if (claims.closing) void reply.header('connection', 'close');
      return { tasks: claimed.map((task) => workToWire(task, holder)) };
    },
  });
}

function leaveRoute(app: App, { engine }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/work/leave',
    config: { scope: 'work' },
    schema: {
      ...describeWork({
        summary: 'Report that a worker stops',
        description: 'A worker that just stops is shown as lost for a day. Release its tasks first.',
        answers: { 204: { description: 'Recorded.' } },
        problems: [413, 415],
      }),
      querystring: NoQuery,
      body: LeaveWorkDto,
    },
    handler: async (request, reply) => {
      await engine.leave(callerOf(request, request.body.holder).holder);
      return reply.code(204).send();
    },
  });
}

function heartbeatRoute(app: App, { engine, holders }: RouteContext): void {
  const beats = new Coalescer<Heartbeat, HeartbeatResult>({
    flush: (items) => engine.heartbeat(items),
    maxItems: 2000,
    maxWaiting: 50_000,
  });
  app.addHook('onClose', () => beats.drain());
  app.route({
    method: 'POST',
    url: '/v1/work/:task_id/heartbeat',
    config: onTask.config,
    schema: {
      ...describeWork({
        summary: 'Send a heartbeat',
        description: `Extends its lease and adds counts. A problem with status 404 or 409 means: stop. The task was
canceled, has ended, or was claimed by another worker.`,
        answers: { 200: { description: 'Continue.', schema: HeartbeatAnswerDto } },
        problems: BODY_PROBLEMS,
      }),
      params: onTask.params,
      querystring: onTask.querystring,
      body: WorkHeartbeatDto,
    },
    handler: async (request) => {
      const { attempt, new_success = 0, new_failures = 0 } = request.body;
      const id = await heldTask(holders, request, request.body);
      const result = await beats.add({ task_id: id, attempt, new_success, new_failures });
      switch (result) {
        case 'applied':
          return { id, result };
        case 'not_found':
          throw taskNotFound(id);
        case 'stale_attempt':
          throw staleAttempt();
        case 'canceled':
          throw new HeddleError('CONFLICT', 'The task was canceled or has ended', {
            details: [`task_id: was canceled or has ended; ${STOP}`],
          });
      }
    },
  });
}

/** Responds to a report on an attempt. `again`: the report leads to a retry that has already been scheduled. */
function answerReport(outcome: TransitionOutcome, wanted: string, again = false): WorkOutcomeDto {
  switch (outcome.result) {
    case 'applied':
    case 'retrying':
    case 'unchanged':
      return workOutcomeToWire(outcome, outcome.result);
    case 'not_found':
      throw taskNotFound(outcome.task_id);
    case 'conflict':
      throw conflictWith(outcome.state, wanted);
    case 'not_started':
      if (again) return workOutcomeToWire(outcome, 'unchanged');
      throw staleAttempt();
    case 'stale_attempt':
      throw staleAttempt();
  }
}

function completeRoute(app: App, { operations, holders }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/work/:task_id/complete',
    config: { ...onTask.config, body: ONE_RESULT },
    schema: {
      ...describeWork({
        summary: 'Complete a task',
        description: 'A repeat for the same attempt changes nothing and returns 200.',
        answers: OUTCOME,
        problems: BODY_PROBLEMS,
      }),
      params: onTask.params,
      querystring: onTask.querystring,
      body: CompleteWorkDto,
    },
    handler: async (request) => {
      const { attempt, state = 'Succeeded', result, expected_task_count, disable, exit_code } = request.body;
      const report: Report = {
        task_id: await heldTask(holders, request, request.body),
        attempt,
        outcome: state === 'Succeeded' ? 'succeeded' : 'partially_failed',
        ...(result === undefined ? {} : { result: result as JsonValue }),
        ...(expected_task_count === undefined ? {} : { expected_created: expected_task_count }),
        ...(exit_code === undefined ? {} : { exit_code }),
        ...(disable === undefined || state !== 'Succeeded' ? {} : { disable }),
      };
      return answerReport(await operations.report(report), 'completed');
    },
  });
}

function failRoute(app: App, { operations, holders }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/work/:task_id/fail',
    config: onTask.config,
    schema: {
      ...describeWork({
        summary: 'Fail a task',
        description: 'Its retry policy applies. A repeat for the same attempt changes nothing.',
        answers: OUTCOME,
        problems: BODY_PROBLEMS,
      }),
      params: onTask.params,
      querystring: onTask.querystring,
      body: FailWorkDto,
    },
    handler: async (request) => {
      const { attempt, reason, exit_code, final = false } = request.body;
      const task_id = await heldTask(holders, request, request.body);
      const more = { ...(final ? { final } : {}), ...(exit_code === undefined ? {} : { exit_code }) };
      const report = { task_id, attempt, outcome: 'failed', reason, ...more } as const;
      return answerReport(await operations.report(report), 'failed', true);
    },
  });
}

function releaseRoute(app: App, { engine, holders }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/work/:task_id/release',
    config: onTask.config,
    schema: {
      ...describeWork({
        summary: 'Release a task',
        description: 'For a worker that stops: the task is ready for other workers at once, as its next attempt.',
        answers: OUTCOME,
        problems: BODY_PROBLEMS,
      }),
      params: onTask.params,
      querystring: onTask.querystring,
      body: ReleaseWorkDto,
    },
    handler: async (request) => {
      const task_id = await heldTask(holders, request, request.body);
      const [outcome] = await engine.release([{ task_id, attempt: request.body.attempt }]);
      return answerReport(outcome!, 'released');
    },
  });
}

function childrenRoute(app: App, context: RouteContext): void {
  const { engine, holders } = context;
  app.route({
    method: 'POST',
    url: '/v1/work/:task_id/children',
    config: { ...onTask.config, bodyDepth: CHILDREN_DEPTH_MAX, body: MANY_NODES },
    schema: {
      ...describeWork({
        summary: 'Add nodes to a workflow, as its generator',
        description: `Each node is accepted or rejected by itself. Use UUIDs as ids, so that a repeat of the request creates
nothing twice.`,
        answers: { 200: { description: 'The outcome for each node.', schema: CreatedChildrenDto } },
        problems: BODY_PROBLEMS,
      }),
      params: onTask.params,
      querystring: onTask.querystring,
      body: CreateChildrenDto,
    },
    handler: async (request) => {
      const { attempt, nodes: given, parent_id: parent = null } = request.body;
      const nodes = readNodes(given, context.newId);
      nodes.forEach((node, index) => {
        requireCommandScope(request, kindsIn(node));
        requireAllowedAddresses(node, placeOf(placeOf(null, 'nodes'), index), context.config.ssrf);
        requireKnownClasses(node, placeOf(placeOf(null, 'nodes'), index), context.config.resourceClasses ?? null);
      });
      const task = await requireTask(engine, await heldTask(holders, request, request.body));
      if (task.attempt !== attempt) throw staleAttempt();
      const created = await engine.createNodes(nodes.map((node) => ({ generator_id: task.id, attempt, node, parent })));
      return {
        nodes: created.map((result, index) => {
          if (result.result === 'stale_attempt') throw staleAttempt();
          const node = nodes[index]!;
          return createdChildToWire(node.type === 'task' ? node.task : node, result);
        }),
      };
    },
  });
}

/** Returns the nodes, or throws with the faults of all of them. */
function readNodes(given: readonly unknown[], newId: () => string): NewNode[] {
  const faults = new Faults();
  const place = placeOf(null, 'nodes');
  const nodes = given.map((value, index) => readCreatedNode(value, placeOf(place, index), faults, newId));
  if (faults.list.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details: faults.list });
  return nodes.filter((node) => node !== null);
}
