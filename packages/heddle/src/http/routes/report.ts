import type { FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import type { JsonObject } from '@heddle/base/json';
import { BATCH_WIRE_STATE, isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Report, TransitionOutcome } from '@heddle/core/engine/port';
import type { Call, CallReply } from '../call.ts';
import { readIdempotencyKey } from '../submit/submission.ts';
import { checkMetadataSize } from '../submit/check-task.ts';
import { FaultList } from '../validation/explain.ts';
import { requireCommandScope } from '../submit/check-commands.ts';
import { TaskDto, taskToWire } from '../wire/task.ts';
import { ProgressDto, ProgressResultDto, TaskStatusDto, UpdateTaskDto } from '../wire/update.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { HandleQuery, idOf, TaskParameters } from './parameters.ts';
import { prefersMinimal } from './submit.ts';
import { conflictWith, requireApplied, requireTask, taskNotFound } from './transitions.ts';

export function reportRoutes(app: App, context: RouteContext): void {
  patchRoute(app, context);
  progressRoute(app, context);
}

function patchRoute(app: App, context: RouteContext): void {
  app.route({
    method: 'PATCH',
    url: '/task/:task_id',
    config: { scope: 'operate', handle: true },
    schema: {
      ...documented({
        summary: 'Finish or update a task',
        description: `With a \`status\` the task ends: its actions fire and its children continue. A repeat with the same outcome
changes nothing. Counters are added, metadata is merged. With \`Prefer: return=minimal\` the response has only id and status.`,
        tag: 'Tasks',
        scope: 'operate',
        answers: { 200: { description: 'The task.', schema: Type.Union([TaskDto, TaskStatusDto]) } },
        problems: [404, 409, 413, 415, 422, 429],
      }),
      params: TaskParameters,
      querystring: HandleQuery,
      body: UpdateTaskDto,
    },
    handler: async (request, reply) => {
      const id = idOf(request.params);
      const { handleAttempt } = request.heddle;
      const { body } = request;
      requireMeaning(body);
      // Its metadata is the input of a command that has not started yet.
      if (body.metadata !== undefined && request.heddle.scopes !== null) {
        requireCommandScope(request, [(await requireTask(context.engine, id)).kind]);
      }
      const attempt = handleAttempt ?? body.attempt ?? null;
      const outcome = await applyUpdate(id, attempt, body, context);
      const minimal = prefersMinimal(request);
      await requireHandleGrace(outcome, handleAttempt, context);
      requireApplied(
        outcome,
        body.status === 'Failure' ? 'failed' : body.status ? 'finished' : 'updated',
        handleAttempt !== null,
      );
      if (minimal && outcome.state !== null) return answerMinimal(reply, id, outcome.state);
      return taskToWire(await requireTask(context.engine, id));
    },
  });
}

function answerMinimal(
  reply: FastifyReply,
  id: string,
  state: keyof typeof BATCH_WIRE_STATE,
): Static<typeof TaskStatusDto> {
  void reply.header('preference-applied', 'return=minimal');
  return { id, status: BATCH_WIRE_STATE[state] };
}

/** A handle expires a grace period after its task's end; until then the engine decides the response. */
async function requireHandleGrace(
  outcome: TransitionOutcome,
  attempt: number | null,
  { engine, handles }: RouteContext,
): Promise<void> {
  if (attempt === null || outcome.state === null || !isTerminal(outcome.state)) return;
  if (outcome.result !== 'unchanged' && outcome.result !== 'conflict') return;
  handles.requireCurrent(await requireTask(engine, outcome.task_id), attempt);
}

function applyUpdate(
  id: string,
  attempt: number | null,
  body: UpdateTaskDto,
  { operations }: RouteContext,
): Promise<TransitionOutcome> {
  const changes = {
    task_id: id,
    attempt,
    ...(body.metadata === undefined ? {} : { metadata_patch: body.metadata as JsonObject }),
    ...(body.new_success === undefined ? {} : { new_success: body.new_success }),
    ...(body.new_failures === undefined ? {} : { new_failures: body.new_failures }),
  };
  if (body.status === undefined) return operations.update(changes);
  const report: Report = { ...changes, outcome: body.status === 'Success' ? 'succeeded' : 'failed' };
  if (body.failure_reason !== undefined) report.reason = body.failure_reason;
  return operations.report(report);
}

/** Checks that the schema of an update cannot express. */
function requireMeaning(body: UpdateTaskDto): void {
  const faults = new FaultList(20);
  if (body.status === 'Failure' && body.failure_reason === undefined) {
    faults.add('failure_reason', 'is required with status Failure');
  }
  if (body.status !== 'Failure' && body.failure_reason !== undefined) {
    faults.add('failure_reason', 'requires status Failure; remove it');
  }
  if (Object.keys(body).every((name) => name === 'attempt')) {
    faults.add('status', 'is required, or one of new_success, new_failures, metadata');
  }
  if (body.metadata !== undefined) checkMetadataSize(body.metadata, 'metadata', faults);
  if (faults.faults.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details: faults.faults });
}

/** The route, which is also served directly. */
export const PROGRESS_ROUTE = {
  method: 'PUT',
  url: '/task/:task_id',
  config: { scope: 'operate', handle: true, reportsWork: true },
} as const;

function progressRoute(app: App, context: RouteContext): void {
  app.route({
    ...PROGRESS_ROUTE,
    schema: {
      ...documented({
        summary: 'Count progress',
        description: `Adds to the counters and resets the timeout. The response follows once the counts are durable;
concurrent calls share a commit. With the header \`Idempotency-Key\` a repeat counts nothing.`,
        tag: 'Tasks',
        scope: 'operate',
        answers: { 202: { description: 'The counts are stored.', schema: ProgressResultDto } },
        problems: [404, 409, 413, 415, 429],
      }),
      params: TaskParameters,
      querystring: HandleQuery,
      body: ProgressDto,
    },
    handler: (request, reply) => countProgress(idOf(request.params), request.body, request, reply, context),
  });
}

/** Adds to the counters of a task; returns the body of the response once the counts are stored. */
export async function countProgress(
  id: string,
  { new_success = 0, new_failures = 0 }: ProgressDto,
  request: Pick<Call, 'headers' | 'heddle'>,
  reply: Pick<CallReply, 'code'>,
  { engine, handles, operations }: RouteContext,
): Promise<{ id: string; result: string }> {
  if (new_success === 0 && new_failures === 0) {
    throw new HeddleError('VALIDATION_FAILED', undefined, {
      details: ['new_success: must not be zero if new_failures is zero; count at least one'],
    });
  }
  const idempotency_key = readIdempotencyKey(request.headers['idempotency-key']);
  const { handleAttempt: attempt } = request.heddle;
  const result = await operations.progress({ task_id: id, attempt, new_success, new_failures, idempotency_key });
  if (result === 'not_found') throw taskNotFound(id);
  if (result === 'key_reused') {
    throw new HeddleError('IDEMPOTENCY_MISMATCH', undefined, {
      details: ['Idempotency-Key: was already used with other counts; use a new key for a new count'],
    });
  }
  if (attempt !== null && (result === 'terminal' || result === 'stale_attempt')) {
    handles.requireCurrent(await requireTask(engine, id), attempt);
  }
  if (result === 'terminal') throw conflictWith((await engine.getTask(id))?.state ?? null, 'counted on any more');
  void reply.code(202);
  return { id, result };
}
