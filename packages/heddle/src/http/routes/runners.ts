import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import type { Runner } from '@heddle/core/domain/runner/runner';
import type { PoolOperations } from '@heddle/core/pool/pool-port';
import { Uuid } from '../wire/basics.ts';
import { RunnerDto, RunnerStateDto, runnerToWire } from '../wire/runner.ts';
import type { App, RouteContext } from './context.ts';
import { textFilter } from './filters.ts';
import { NoQuery, pageOf, pageProperties } from './parameters.ts';
import { CLASS_CHARS_MAX, describePool } from './pool-demand.ts';

const RunnerParameters = Type.Object({ runner_id: Uuid('The runner.') }, { additionalProperties: false });

const detail = { 200: { description: 'The runner.', schema: RunnerDto } };

interface Change {
  verb: 'release' | 'drain' | 'terminate';
  summary: string;
  description: string;
  /** Whether the runner is already in the state after the change. */
  isDone: (runner: Runner) => boolean;
  /** Why a runner in another state cannot be changed. */
  refusal: (runner: Runner) => string;
}

const hasEnded = ({ state }: Runner): boolean => state === 'terminated';
const ended = (): string => 'it has ended';

const CHANGES: readonly Change[] = [
  {
    verb: 'release',
    summary: 'Release a runner',
    description: `Releases it from its claim: it goes to the next waiting request, becomes idle, or terminates if it
is draining or used up. This does not stop its running task.`,
    isDone: ({ state }) => state === 'idle',
    refusal: (runner) => (hasEnded(runner) ? ended() : `it is not claimed: it is ${runner.state}`),
  },
  {
    verb: 'drain',
    summary: 'Drain a runner',
    description: 'It accepts no more tasks and terminates when it is released; at once if it is not claimed.',
    isDone: (runner) => runner.draining || hasEnded(runner),
    refusal: ended,
  },
  {
    verb: 'terminate',
    summary: 'Terminate a runner',
    description:
      'It terminates now, even if it runs a task. Its request waits for another runner; its task is retried.',
    isDone: hasEnded,
    refusal: ended,
  },
];

/** Routes of single runners. */
export function runnerRoutes(app: App, context: RouteContext): void {
  listRoute(app, context);
  readRoute(app, context);
  for (const change of CHANGES) changeRoute(app, context, change);
}

function listRoute(app: App, { pool, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/pool/runners',
    config: { scope: 'read' },
    schema: {
      ...describePool({
        summary: 'List runners',
        description: 'Latest first. Terminated ones only if `state` selects them.',
        scope: 'read',
        answers: { 200: { description: 'One page of runners.', schema: Type.Array(RunnerDto) } },
      }),
      querystring: Type.Object(
        {
          ...pageProperties(config.pagination),
          state: Type.Optional(RunnerStateDto),
          resource_class: textFilter(CLASS_CHARS_MAX, 'Only of this class.'),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query }) => {
      const { state, resource_class } = query;
      const filter = {
        ...(state === undefined ? { ended: false as const } : { state }),
        ...(resource_class === undefined ? {} : { resource_class }),
      };
      return (await pool.runners(filter, pageOf(query, config.pagination))).map(runnerToWire);
    },
  });
}

function readRoute(app: App, { pool }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/pool/runners/:runner_id',
    config: { scope: 'read' },
    schema: {
      ...describePool({
        summary: 'Get a runner',
        scope: 'read',
        answers: detail,
        problems: [404],
      }),
      params: RunnerParameters,
      querystring: NoQuery,
    },
    handler: async ({ params }) => runnerToWire(await requireRunner(pool, params.runner_id)),
  });
}

function changeRoute(app: App, { pool }: RouteContext, change: Change): void {
  const { verb, summary, description, isDone, refusal } = change;
  app.route({
    method: 'POST',
    url: `/v1/pool/runners/:runner_id/${verb}`,
    config: { scope: 'operate' },
    schema: {
      ...describePool({
        summary,
        description: `${description} A repeat changes nothing.`,
        scope: 'operate',
        answers: detail,
        problems: [404, 409],
      }),
      params: RunnerParameters,
      querystring: NoQuery,
    },
    handler: async ({ params }) => {
      const changed = await pool[verb]([params.runner_id.toLowerCase()]);
      const runner = await requireRunner(pool, params.runner_id);
      if (changed === 0 && !isDone(runner)) {
        throw new HeddleError('CONFLICT', `The runner ${runner.id} does not allow this: ${refusal(runner)}`, {
          details: [`runner_id: ${refusal(runner)}`],
        });
      }
      return runnerToWire(runner);
    },
  });
}

async function requireRunner(pool: Pick<PoolOperations, 'runners'>, given: string): Promise<Runner> {
  const id = given.toLowerCase();
  const [runner] = await pool.runners({ ids: [id] }, { offset: 0, limit: 1 });
  if (runner !== undefined) return runner;
  throw new HeddleError('NOT_FOUND', `No such runner: ${id}`, {
    details: [`runner_id: no runner has the id ${id}; runners that terminated long ago are deleted`],
  });
}
