import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import type { JsonObject } from '@heddle/base/json';
import { Faults } from '@heddle/base/parse/faults';
import { readInput } from '@heddle/base/parse/json-value';
import { placeOf } from '@heddle/base/parse/path';
import type { Engine, TransitionOutcome } from '@heddle/core/engine/port';
import { requireCommandScope } from '../submit/check-commands.ts';
import { BulkOperationDto, BulkResultDto, RetryTaskDto } from '../wire/operation.ts';
import { restoredInput } from '../wire/shown-input.ts';
import { TaskDto, taskToWire } from '../wire/task.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { idOf, NoQuery, TaskParameters } from './parameters.ts';
import { rejectionOf, requireTask } from './transitions.ts';

/** Ids that an entry of the audit log holds. */
const AUDITED_IDS_MAX = 10;

/** Routes that retry a task, and that change many tasks at once. */
export function taskOperationRoutes(app: App, context: RouteContext): void {
  retryRoute(app, context);
  bulkRoute(app, context);
}

const description = `Opens the next attempt and reopens tasks that failed or were skipped because of it, also from the archive.
With \`input\` it runs with another input, which is checked if the schema of its kind is known; a command requires the scope
\`command\` then. With \`after\` everything after it runs again, too: in a batch all that depends on it, in a workflow all that
follows in the sequences around it. Counters of all of it begin again, and its results are deleted.`;

function retryRoute(app: App, context: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/tasks/:task_id/retry',
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: 'Retry a task',
        description,
        tag: 'Tasks',
        scope: 'operate',
        answers: { 200: { description: 'The task.', schema: TaskDto } },
        problems: [404, 409, 413, 415],
      }),
      params: TaskParameters,
      querystring: NoQuery,
      body: Type.Optional(RetryTaskDto),
    },
    handler: async (request) => {
      const id = idOf(request.params);
      const { input, after = false } = request.body;
      const inputs = input === undefined ? null : await checkedInput(id, input as JsonObject, request, context);
      const [outcome] = await context.engine.retry([id], { after, ...(inputs === null ? {} : { inputs }) });
      const rejection = rejectionOf(outcome!, 'retried');
      if (rejection !== null) throw rejection;
      if (inputs !== null && outcome!.result === 'unchanged') throw notStarted();
      return taskToWire(await requireTask(context.engine, id));
    },
  });
}

/** @throws HeddleError VALIDATION_FAILED with every fault of the input; FORBIDDEN for a command without its scope */
async function checkedInput(
  id: string,
  given: JsonObject,
  request: FastifyRequest,
  { engine, kinds }: RouteContext,
): Promise<Map<string, JsonObject>> {
  const task = await requireTask(engine, id);
  requireCommandScope(request, [task.kind]);
  const faults = new Faults();
  const restored = restoredInput(task, readInput(given, placeOf(null, 'input'), faults));
  if ('fault' in restored) throw invalid([`input.${restored.fault}`]);
  if (faults.list.length === 0) faults.list.push(...(await kinds.inputFaults(task.kind, restored.input)));
  if (faults.list.length > 0) throw invalid(faults.list);
  return new Map([[id, restored.input]]);
}

function invalid(details: readonly string[]): HeddleError {
  return new HeddleError('VALIDATION_FAILED', undefined, { details: [...details] });
}

function notStarted(): HeddleError {
  return new HeddleError('CONFLICT', 'The task has not started yet, so that it cannot be retried with another input', {
    details: ['input: a task that has not started is changed by PATCH /task/{task_id} with metadata'],
  });
}

interface Bulk {
  /** Completes "it cannot be …". */
  wanted: string;
  run: (engine: Engine, ids: readonly string[]) => Promise<TransitionOutcome[]>;
}

const BULK: Readonly<Record<BulkOperationDto['operation'], Bulk>> = {
  cancel: { wanted: 'canceled', run: (engine, ids) => engine.cancel(ids) },
  pause: { wanted: 'paused', run: (engine, ids) => engine.pause(ids) },
  resume: { wanted: 'resumed', run: (engine, ids) => engine.resume(ids) },
  retry: { wanted: 'retried', run: (engine, ids) => engine.retry(ids) },
};

function bulkRoute(app: App, { engine }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/tasks/bulk',
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: 'Cancel, pause, resume or retry many tasks',
        description: 'One transition of a set: tasks that cannot change do not affect the others.',
        tag: 'Tasks',
        scope: 'operate',
        answers: { 200: { description: 'What was changed, and why the rest was not.', schema: BulkResultDto } },
        problems: [413, 415],
      }),
      querystring: NoQuery,
      body: BulkOperationDto,
    },
    handler: async (request) => {
      const { operation } = request.body;
      const ids = [...new Set(request.body.ids.map((id) => id.toLowerCase()))];
      const { wanted, run } = BULK[operation];
      const changed: string[] = [];
      const unchanged: BulkResultDto['unchanged'] = [];
      for (const outcome of await run(engine, ids)) {
        const { task_id: id } = outcome;
        const rejection = rejectionOf(outcome, wanted, true);
        if (rejection === null) changed.push(id);
        else unchanged.push({ id, reason: rejection.message });
      }
      request.heddle.created = auditedObject(operation, changed, `${ids.length} tasks`);
      return { changed, unchanged };
    },
  });
}

/** @param asked how many of what */
export function auditedObject(operation: string, changed: readonly string[], asked: string): string {
  const more = changed.length - AUDITED_IDS_MAX;
  const ids = changed.slice(0, AUDITED_IDS_MAX).join(' ');
  return `${operation}: ${changed.length} of ${asked} ${ids}${more > 0 ? ` and ${more} more` : ''}`.trimEnd();
}
