import { Type } from 'typebox';

import { BATCH_WIRE_STATE, type TaskState } from '@heddle/base/vocabulary/task-state';
import type { Engine } from '@heddle/core/engine/port';
import { BatchDetailDto, BatchDto, batchToWire, CanceledDto, DagDto, dagToWire } from '../wire/batch.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { answerPage, cursorHeaders, cursorProperties } from './cursors.ts';
import { BatchParameters, NoQuery } from './parameters.ts';
import { batchNotFound } from './transitions.ts';

export function batchRoutes(app: App, context: RouteContext): void {
  listRoute(app, context);
  readRoutes(app, context);
  cancelRoute(app, context);
}

function listRoute(app: App, { engine, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/batches',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List batches',
        description: 'Newest first. A page examines at most 5,000 runs, so one with `Link` may be short or empty.',
        tag: 'Batches',
        scope: 'read',
        answers: {
          200: { description: 'One page of batches.', schema: Type.Array(BatchDto), headers: cursorHeaders },
        },
      }),
      querystring: Type.Object(
        {
          ...cursorProperties(config.pagination),
          open: Type.Optional(Type.Boolean({ description: 'True: only with unfinished tasks; false: only without.' })),
        },
        { additionalProperties: false },
      ),
    },
    handler: (request, reply) => {
      const { open } = request.query;
      const filter = { trees: false, ...(open === undefined ? {} : { open }) };
      return answerPage(reply, request.query, config.pagination, async (place) => {
        const { workflows, next } = await engine.listWorkflows({ ...filter, ...place });
        return { items: workflows.map(batchToWire), next };
      });
    },
  });
}

function readRoutes(app: App, { engine }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/batches/:batch_id',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get a batch',
        tag: 'Batches',
        scope: 'read',
        answers: { 200: { description: 'The batch with its task counts by status.', schema: BatchDetailDto } },
        problems: [404],
      }),
      params: BatchParameters,
      querystring: NoQuery,
    },
    handler: async (request) => readBatch(engine, request.params.batch_id.toLowerCase()),
  });
  app.route({
    method: 'GET',
    url: '/dag/:batch_id',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get the graph of a batch',
        tag: 'Batches',
        scope: 'read',
        answers: { 200: { description: 'Its tasks and their links.', schema: DagDto } },
        problems: [404],
      }),
      params: BatchParameters,
      querystring: NoQuery,
    },
    handler: async (request) => {
      const id = request.params.batch_id.toLowerCase();
      const dag = await engine.getDag(id);
      if (dag === null) throw batchNotFound(id);
      return dagToWire(dag);
    },
  });
}

async function readBatch(engine: Engine, id: string): Promise<BatchDetailDto> {
  const [workflow, counts] = await Promise.all([engine.getWorkflow(id), engine.countStates(id)]);
  if (workflow === null) throw batchNotFound(id);
  const by_status: Record<string, number> = {};
  for (const [state, count] of Object.entries(counts) as [TaskState, number][]) {
    const status = BATCH_WIRE_STATE[state];
    by_status[status] = (by_status[status] ?? 0) + count;
  }
  return { ...batchToWire(workflow), by_status };
}

function cancelRoute(app: App, { engine }: RouteContext): void {
  app.route({
    method: 'DELETE',
    url: '/v1/batches/:batch_id',
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: 'Cancel a batch',
        description: 'Cancels all its unfinished tasks.',
        tag: 'Batches',
        scope: 'operate',
        answers: { 200: { description: 'Number of canceled tasks.', schema: CanceledDto } },
        problems: [404],
      }),
      params: BatchParameters,
      querystring: NoQuery,
    },
    handler: async (request) => {
      const id = request.params.batch_id.toLowerCase();
      const canceled = await engine.cancelWorkflow(id);
      if (canceled === null) throw batchNotFound(id);
      return { canceled };
    },
  });
}
