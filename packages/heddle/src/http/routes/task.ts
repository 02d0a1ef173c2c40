import { Type } from 'typebox';

import type { TaskDetail } from '@heddle/base/vocabulary/task';
import type { Engine, TransitionOutcome } from '@heddle/core/engine/port';
import { attemptToWire, TaskAttemptDto } from '../wire/attempt.ts';
import { nullable } from '../wire/basics.ts';
import { ExplanationDto, explanationToWire } from '../wire/explanation.ts';
import { TaskDto, taskToWire } from '../wire/task.ts';
import { resultToWire, TaskResultDto } from '../wire/workflow.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { HandleQuery, idOf, NoQuery, pageProperties, TaskParameters } from './parameters.ts';
import { rejectionOf, requireTask, taskNotFound } from './transitions.ts';

const TASK_ANSWER = { 200: { description: 'The task.', schema: TaskDto } };

export function taskRoutes(app: App, context: RouteContext): void {
  const { engine, handles } = context;
  app.route({
    method: 'GET',
    url: '/task/:task_id',
    config: { scope: 'read', handle: true },
    schema: {
      ...documented({
        summary: 'Get a task',
        description: 'With everything it was submitted with. Includes archived tasks.',
        tag: 'Tasks',
        scope: 'read',
        answers: TASK_ANSWER,
        problems: [404],
      }),
      params: TaskParameters,
      querystring: HandleQuery,
    },
    handler: async (request) => {
      const task = await requireTask(engine, idOf(request.params));
      handles.requireCurrent(task, request.heddle.handleAttempt);
      return taskToWire(task);
    },
  });
  app.route({
    method: 'GET',
    url: '/v1/tasks/:task_id/explain',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Explain why a task is not running',
        tag: 'Tasks',
        scope: 'read',
        answers: { 200: { description: 'The obstacles.', schema: ExplanationDto } },
        problems: [404],
      }),
      params: TaskParameters,
      querystring: NoQuery,
    },
    handler: async (request) => {
      const id = idOf(request.params);
      const explanation = await engine.explain(id);
      if (explanation === null) throw taskNotFound(id);
      return explanationToWire(explanation);
    },
  });
  attemptsRoute(app, context);
  resultRoute(app, context);
  for (const transition of TRANSITIONS) transitionRoute(app, engine, transition);
}

function attemptsRoute(app: App, { engine, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/tasks/:task_id/attempts',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List the attempts of a task',
        description: 'Newest first. They are kept as long as the task.',
        tag: 'Tasks',
        scope: 'read',
        answers: { 200: { description: 'One page of attempts.', schema: Type.Array(TaskAttemptDto) } },
        problems: [404],
      }),
      params: TaskParameters,
      querystring: Type.Object(
        {
          page_size: pageProperties(config.pagination).page_size,
          before: Type.Optional(Type.Integer({ minimum: 1, description: 'Only attempts with lower numbers.' })),
        },
        { additionalProperties: false },
      ),
    },
    handler: async (request) => {
      const id = idOf(request.params);
      const { page_size = config.pagination.default, before = null } = request.query;
      const attempts = await engine.listAttempts(id, before, page_size);
      if (attempts.length === 0) await requireTask(engine, id);
      return attempts.map(attemptToWire);
    },
  });
}

function resultRoute(app: App, { engine }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/tasks/:task_id/result',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get the result of a task',
        description: 'Its result: `null` if it has none or has not ended.',
        tag: 'Tasks',
        scope: 'read',
        answers: { 200: { description: 'The result, or null.', schema: nullable(TaskResultDto) } },
        problems: [404],
      }),
      params: TaskParameters,
      querystring: NoQuery,
    },
    handler: async (request) => {
      const id = idOf(request.params);
      const result = await engine.readResult(id);
      if (result !== null) return resultToWire(result);
      await requireTask(engine, id);
      return null;
    },
  });
}

interface TransitionRoute {
  method: 'DELETE' | 'PATCH' | 'POST';
  url: string;
  summary: string;
  description: string;
  /** Completes "it cannot be …". */
  wanted: string;
  /** Whether a task that is already in that state is a conflict. */
  once?: boolean;
  run(engine: Engine, id: string): Promise<TransitionOutcome[]>;
}

const TRANSITIONS: readonly TransitionRoute[] = [
  {
    method: 'DELETE',
    url: '/task/:task_id',
    summary: 'Cancel a task',
    description: 'Any unfinished task. Children that require its success fail; cancel actions of a started task fire.',
    wanted: 'canceled',
    once: true,
    run: (engine, id) => engine.cancel([id]),
  },
  {
    method: 'PATCH',
    url: '/task/pause/:task_id',
    summary: 'Pause a task',
    description:
      'A waiting or pending task does not start; a running one keeps its slot while its timeout is suspended.',
    wanted: 'paused',
    run: (engine, id) => engine.pause([id]),
  },
  {
    method: 'PATCH',
    url: '/task/resume/:task_id',
    summary: 'Resume a paused task',
    description: 'It returns to the state it would now have: parents that ended meanwhile count.',
    wanted: 'resumed',
    run: (engine, id) => engine.resume([id]),
  },
  {
    method: 'POST',
    url: '/v1/tasks/:task_id/release',
    summary: 'Release the slots of a canceled task',
    description: 'For a canceled task whose target or worker will never report that it stopped.',
    wanted: 'released',
    run: (engine, id) => engine.releaseCanceled([id]),
  },
];

function transitionRoute(app: App, engine: Engine, transition: TransitionRoute): void {
  app.route({
    method: transition.method,
    url: transition.url,
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: transition.summary,
        description: transition.description,
        tag: 'Tasks',
        scope: 'operate',
        answers: TASK_ANSWER,
        problems: [404, 409],
      }),
      params: TaskParameters,
      querystring: NoQuery,
    },
    handler: async (request) => {
      const id = idOf(request.params);
      const [outcome] = await transition.run(engine, id);
      const rejection = rejectionOf(outcome!, transition.wanted, transition.once);
      if (rejection !== null) throw rejection;
      const task: TaskDetail = await requireTask(engine, id);
      return taskToWire(task);
    },
  });
}
