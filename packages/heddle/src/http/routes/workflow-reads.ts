import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { TREE_DEPTH_MAX } from '@heddle/core/domain/parse/tree';
import { nodeStatesOfWorkflowWire, statesOfWorkflowWire } from '@heddle/base/vocabulary/workflow';
import type { Engine, ResultScope } from '@heddle/core/engine/port';
import { Uuid } from '../wire/basics.ts';
import { ContainerExplanationDto, containerExplanationToWire } from '../wire/explanation.ts';
import {
  ChildrenDto,
  childrenToWire,
  resultToWire,
  TaskResultDto,
  treeToWire,
  WorkflowDto,
  WorkflowState,
  workflowToWire,
  WorkflowTreeDto,
} from '../wire/workflow.ts';
import type { App, RouteContext } from './context.ts';
import { answerPage, cursorHeaders, cursorProperties } from './cursors.ts';
import { documented } from './document.ts';
import { ContainerParameters, NoQuery, pageOf, pageProperties, WorkflowParameters } from './parameters.ts';
import { requireTree } from './transitions.ts';

/** Nodes of one response: a tree may have many more than a client wants at once. */
const NODES_PER_ANSWER = 10_000;

export function workflowReadRoutes(app: App, context: RouteContext): void {
  listRoute(app, context);
  treeRoute(app, context);
  childrenRoute(app, context);
  explainRoute(app, context);
  resultsRoute(app, context);
}

function listRoute(app: App, { engine, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/workflows',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List workflows',
        description: 'Newest first. A page examines at most 5,000 runs, so one with `Link` may be short or empty.',
        tag: 'Workflows',
        scope: 'read',
        answers: {
          200: { description: 'One page of workflows.', schema: Type.Array(WorkflowDto), headers: cursorHeaders },
        },
      }),
      querystring: Type.Object(
        {
          ...cursorProperties(config.pagination),
          open: Type.Optional(Type.Boolean({ description: 'True: only with unfinished tasks; false: only without.' })),
          state: Type.Optional(WorkflowState),
        },
        { additionalProperties: false },
      ),
    },
    handler: (request, reply) => {
      const { open, state } = request.query;
      const filter = {
        trees: true,
        ...(open === undefined ? {} : { open }),
        ...(state === undefined ? {} : { root_states: statesOfWorkflowWire(state) }),
      };
      return answerPage(reply, request.query, config.pagination, async (place) => {
        const { workflows, next } = await engine.listWorkflows({ ...filter, ...place });
        return { items: workflows.map(workflowToWire), next };
      });
    },
  });
}

const treeDescription = `At most 10,000 nodes, those nearest to the root. Tasks have no inputs, which \`GET /task/{task_id}\`
has as \`metadata\`. \`children_omitted\` of a container is the number of its children that are missing.`;

function treeRoute(app: App, { engine }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/workflows/:workflow_id',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get a workflow with its tree',
        description: treeDescription,
        tag: 'Workflows',
        scope: 'read',
        answers: {
          200: { description: 'The workflow and its nodes, a consistent snapshot.', schema: WorkflowTreeDto },
        },
        problems: [404],
      }),
      params: WorkflowParameters,
      querystring: Type.Object(
        {
          depth: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: TREE_DEPTH_MAX,
              description: 'Levels below the root (default all).',
            }),
          ),
          tasks: Type.Optional(Type.Boolean({ default: true, description: 'False: containers only.' })),
        },
        { additionalProperties: false },
      ),
    },
    handler: async (request) => {
      const id = request.params.workflow_id.toLowerCase();
      const { depth, tasks } = request.query;
      const query = {
        ...(depth === undefined ? {} : { depth }),
        ...(tasks === undefined ? {} : { tasks }),
        inputs: false,
        nodes_max: NODES_PER_ANSWER,
      };
      let found = await engine.getTree(id, query);
      if (found === null) {
        // Either it is no workflow, which is rejected here, or it was stored just after the first read.
        await requireTree(engine, id);
        found = await engine.getTree(id, query);
      }
      if (found === null) throw new Error(`workflow ${id} has no tree`);
      return treeToWire(found.workflow, found.tree);
    },
  });
}

function childrenRoute(app: App, { engine, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/workflows/:workflow_id/containers/:container_id/children',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List the children of a container',
        description: 'By position: all, or those in one state.',
        tag: 'Workflows',
        scope: 'read',
        answers: { 200: { description: 'The container and one page of its children.', schema: ChildrenDto } },
        problems: [404],
      }),
      params: ContainerParameters,
      querystring: Type.Object(
        { ...pageProperties(config.pagination), state: Type.Optional(WorkflowState) },
        { additionalProperties: false },
      ),
    },
    handler: async (request) => {
      const id = request.params.workflow_id.toLowerCase();
      const containerId = request.params.container_id.toLowerCase();
      const { state } = request.query;
      const page = await engine.listChildren(id, containerId, {
        ...pageOf(request.query, config.pagination),
        ...(state === undefined ? {} : { states: nodeStatesOfWorkflowWire(state) }),
      });
      if (page !== null) return childrenToWire(page);
      await requireTree(engine, id);
      throw containerNotFound(containerId);
    },
  });
}

function explainRoute(app: App, { engine }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/workflows/:workflow_id/containers/:container_id/explain',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Explain what a container waits for',
        description:
          'Why it has not started, or what keeps it from ending. The root container has the id of the workflow.',
        tag: 'Workflows',
        scope: 'read',
        answers: { 200: { description: 'The obstacles.', schema: ContainerExplanationDto } },
        problems: [404],
      }),
      params: ContainerParameters,
      querystring: NoQuery,
    },
    handler: async (request) => {
      const id = request.params.workflow_id.toLowerCase();
      const containerId = request.params.container_id.toLowerCase();
      const explanation = await engine.explainContainer(id, containerId);
      if (explanation !== null) return containerExplanationToWire(explanation);
      await requireTree(engine, id);
      throw containerNotFound(containerId);
    },
  });
}

const resultsDescription = `The results of its tasks, by container and position. The last \`task_id\` of a page is the \`after\` of
the next one; a page with fewer than \`page_size\` results is the last.`;

function resultsRoute(app: App, { engine, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/workflows/:workflow_id/results',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Read the results of a workflow',
        description: resultsDescription,
        tag: 'Workflows',
        scope: 'read',
        answers: { 200: { description: 'One page of results.', schema: Type.Array(TaskResultDto) } },
        problems: [404],
      }),
      params: WorkflowParameters,
      querystring: Type.Object(
        {
          page_size: pageProperties(config.pagination).page_size,
          after: Type.Optional(Uuid('Only results of tasks whose ids come after this one.')),
          container_id: Type.Optional(Uuid('Only of tasks in this container or below it.')),
          before_task_id: Type.Optional(Uuid('Only of what precedes this task in its container.')),
        },
        { additionalProperties: false },
      ),
    },
    handler: async (request) => {
      const id = request.params.workflow_id.toLowerCase();
      const { page_size: limit = config.pagination.default, after, container_id, before_task_id } = request.query;
      if (container_id !== undefined && before_task_id !== undefined) {
        throw new HeddleError('INVALID_QUERY', undefined, {
          details: ['before_task_id: cannot be combined with container_id; use one of them'],
        });
      }
      await requireTree(engine, id);
      const scope = await scopeOf(engine, id, container_id?.toLowerCase(), before_task_id?.toLowerCase());
      return (await engine.readResults(scope, after?.toLowerCase() ?? null, limit)).map(resultToWire);
    },
  });
}

/** The scope of the results; named nodes must belong to the workflow. */
async function scopeOf(
  engine: Engine,
  id: string,
  containerId: string | undefined,
  taskId: string | undefined,
): Promise<ResultScope> {
  if (containerId !== undefined) {
    if ((await engine.listChildren(id, containerId, { offset: 0, limit: 0 })) === null)
      throw containerNotFound(containerId);
    return { container_id: containerId };
  }
  if (taskId === undefined) return { workflow_id: id };
  if ((await engine.getTask(taskId))?.workflow_id === id) return { before_task_id: taskId };
  throw new HeddleError('NOT_FOUND', `The workflow has no task ${taskId}`, {
    details: [`before_task_id: no task of the workflow has the id ${taskId}`],
  });
}

function containerNotFound(id: string): HeddleError {
  return new HeddleError('NOT_FOUND', `The workflow has no container ${id}`, {
    details: [`container_id: no container of the workflow has the id ${id}`],
  });
}
