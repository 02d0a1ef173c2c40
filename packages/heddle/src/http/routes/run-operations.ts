import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import type { JsonObject } from '@heddle/base/json';
import { memberPath } from '@heddle/base/json/path';
import type { RunDefinition } from '@heddle/core/engine/port';
import { MANY_NODES } from '../body-limits.ts';
import { idempotencyOf, readIdempotencyKey } from '../submit/submission.ts';
import { FaultList } from '../validation/explain.ts';
import {
  definitionToWire,
  RerunDto,
  RunDefinitionDto,
  StartedRunDto,
  submissionOf,
  tasksOfDefinition,
} from '../wire/run-definition.ts';
import { BulkOperationDto, BulkResultDto } from '../wire/operation.ts';
import { restoredInput } from '../wire/shown-input.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { NoQuery, RunParameters } from './parameters.ts';
import { storeTasks } from './submit.ts';
import { auditedObject } from './task-operations.ts';
import { storeWorkflow } from './workflows.ts';

const FAULTS_MAX = 20;

/** Routes that read what was submitted as a run, and run it again. */
export function runOperationRoutes(app: App, context: RouteContext): void {
  definitionRoute(app, context);
  rerunRoute(app, context);
  bulkRoute(app, context);
}

function definitionRoute(app: App, { engine }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/runs/:run_id/definition',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get the definition of a run',
        description: `The body with which an equal run can be submitted. Its inputs are the current ones. It holds no ids and
no delays, and nothing that generators created; secrets of its requests are redacted, names of secrets are not.`,
        tag: 'Runs',
        scope: 'read',
        answers: { 200: { description: 'The definition.', schema: RunDefinitionDto } },
        problems: [404],
      }),
      params: RunParameters,
      querystring: NoQuery,
    },
    handler: async (request) => {
      const id = request.params.run_id.toLowerCase();
      return definitionToWire(found(id, await engine.getDefinition(id)));
    },
  });
}

function rerunRoute(app: App, context: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/runs/:run_id/rerun',
    config: { scope: 'operate', body: MANY_NODES },
    schema: {
      ...documented({
        summary: 'Run a run again',
        description: `Submits its definition as a new run, with the secrets of its requests, and all of its tasks, whatever their
dedupe strategies would find. Commands require the scope \`command\`. With the header \`Idempotency-Key\` a repeat starts nothing.`,
        tag: 'Runs',
        scope: 'operate',
        answers: {
          200: { description: 'Started by an earlier request with this key.', schema: StartedRunDto },
          201: { description: 'Started.', schema: StartedRunDto, headers: { location: 'URL of the new run.' } },
        },
        problems: [404, 413, 415, 422],
      }),
      params: RunParameters,
      querystring: NoQuery,
      body: Type.Optional(RerunDto),
    },
    handler: async (request, reply) => {
      const id = request.params.run_id.toLowerCase();
      const definition = found(id, await context.engine.getDefinition(id));
      const { inputs = {} } = request.body;
      await replaceInputs(context, definition, inputs as Record<string, JsonObject>);
      const key = readIdempotencyKey(request.headers['idempotency-key']);
      const idempotency = idempotencyOf(key, { run: id, inputs });
      const started = await startAgain(request, reply, context, { definition, idempotency });
      void reply.code(started.replayed ? 200 : 201).header('location', `/v1/runs/${started.id}`);
      return { id: started.id, type: definition.type };
    },
  });
}

const bulkDescription = `Changes runs, each as a whole; one that cannot change does not affect the others. \`cancel\`, \`pause\` and
\`resume\` change the unfinished tasks of a run, \`retry\` those that failed, timed out or were canceled: of a workflow
once all its tasks have ended, and with what comes after them. Tasks that generators add to a paused workflow are paused.`;

function bulkRoute(app: App, { engine }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/runs/bulk',
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: 'Cancel, pause, resume or retry many runs',
        description: bulkDescription,
        tag: 'Runs',
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
      const outcomes = await engine.operateRuns(ids, operation);
      const changed = outcomes.filter(({ reason }) => reason === null).map(({ id }) => id);
      const unchanged = outcomes.flatMap(({ id, reason }) => (reason === null ? [] : [{ id, reason }]));
      request.heddle.created = auditedObject(operation, changed, `${ids.length} runs`);
      return { changed, unchanged };
    },
  });
}

async function startAgain(
  request: FastifyRequest,
  reply: FastifyReply,
  context: RouteContext,
  { definition, idempotency }: { definition: RunDefinition; idempotency: ReturnType<typeof idempotencyOf> },
): Promise<{ id: string; replayed: boolean }> {
  const body = submissionOf(definition);
  if (definition.type === 'workflow') {
    const { result } = await storeWorkflow(request, reply, context, { body, idempotency });
    return { id: result.workflow_id, replayed: result.replayed };
  }
  request.heddle.batchId = context.newId();
  const given = { body, name: definition.name, idempotency, with_duplicates: true };
  const { result } = await storeTasks(request, reply, context, given);
  return { id: result.workflow_id, replayed: result.replayed };
}

/** @throws HeddleError VALIDATION_FAILED that names every input without a task, and every fault of the others */
async function replaceInputs(
  { kinds }: RouteContext,
  definition: RunDefinition,
  inputs: Readonly<Record<string, JsonObject>>,
): Promise<void> {
  const names = Object.keys(inputs);
  if (names.length === 0) return;
  const tasks = tasksOfDefinition(definition);
  const taskOf = new Map(tasks.flatMap((task) => (task.local_id === null ? [] : [[task.local_id, task] as const])));
  for (const task of tasks) taskOf.set(task.id, task);
  const faults = new FaultList(FAULTS_MAX);
  for (const name of names) {
    const at = memberPath('inputs', name);
    const task = taskOf.get(name) ?? taskOf.get(name.toLowerCase());
    if (task === undefined) {
      faults.add(at, 'names no task that was submitted with this run; use the id of one, or its name');
      continue;
    }
    const restored = restoredInput(task, inputs[name]!);
    if ('fault' in restored) faults.add(at, restored.fault);
    else {
      task.metadata = restored.input;
      const found = await kinds.inputFaults(task.kind, restored.input);
      faults.addAll(found.map((fault) => `${at}${fault.slice('input'.length)}`));
    }
  }
  if (faults.faults.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details: faults.faults });
}

function found(id: string, definition: RunDefinition | null): RunDefinition {
  if (definition !== null) return definition;
  throw new HeddleError('NOT_FOUND', `No such run: ${id}`, {
    details: [`run_id: no batch or workflow has the id ${id}`],
  });
}
