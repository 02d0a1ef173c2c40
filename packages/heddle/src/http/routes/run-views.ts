import { Type } from 'typebox';

import { RunGridDto, gridToWire, SearchDto, searchToWire, TimelineDto, timelineToWire } from '../wire/run-views.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { requiredText } from './filters.ts';
import { NoQuery } from './parameters.ts';
import { runNotFound, RunParameters } from './runs.ts';

const NAME_MAX_CHARS = 255;
const GRID_RUNS_MAX = 50;
const SEARCH_MAX_CHARS = 200;
const SEARCH_RESULTS_MAX = 50;

/** Routes that show runs in other forms than a list. */
export function runViewRoutes(app: App, context: RouteContext): void {
  gridRoute(app, context);
  timelineRoute(app, context);
  searchRoute(app, context);
}

function gridRoute(app: App, { runs }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/runs/grid',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Compare runs task by task',
        description:
          'The newest runs with one name. Tasks of several runs share a row if they have one local id, or else one kind and names that differ only in numbers.',
        tag: 'Runs',
        scope: 'read',
        answers: { 200: { description: 'Runs as columns, tasks as rows.', schema: RunGridDto } },
      }),
      querystring: Type.Object(
        {
          name: requiredText(NAME_MAX_CHARS, 'Name of the runs.'),
          page_size: Type.Optional(
            Type.Integer({ minimum: 1, maximum: GRID_RUNS_MAX, default: 20, description: 'Number of runs.' }),
          ),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query }) => gridToWire(await runs.grid(query.name, query.page_size ?? 20)),
  });
}

const timelineDescription = `Each task, or the group that it is folded into: of siblings (in one container, or with the
same dependencies) of one kind whose names differ only in numbers, 50 have rows of their own. Those on the critical
path, failed and running ones have them first. Once the run has ended, \`critical\` marks the tasks that determined when.`;

function timelineRoute(app: App, { runs }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/runs/:run_id/timeline',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get the timeline of a run',
        description: timelineDescription,
        tag: 'Runs',
        scope: 'read',
        answers: { 200: { description: 'Its tasks in time, a consistent snapshot.', schema: TimelineDto } },
        problems: [404],
      }),
      params: RunParameters,
      querystring: NoQuery,
    },
    handler: async ({ params }) => {
      const id = params.run_id.toLowerCase();
      const timeline = await runs.timeline(id);
      if (timeline === null) throw runNotFound(id);
      return timelineToWire(timeline);
    },
  });
}

const searchDescription = `Finds runs, tasks, jobs, kinds, workers, rules, hosts, services, certificates, findings, runners
and executors by part of their names, case-insensitive, and runs and tasks by the first 8 or more digits of their ids. Of
runs the newest 5,000 are examined, of tasks, models and findings the newest 10,000.`;

function searchRoute(app: App, { runs, executors }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/search',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Search everything',
        description: searchDescription,
        tag: 'Runs',
        scope: 'read',
        answers: { 200: { description: 'What was found.', schema: SearchDto } },
      }),
      querystring: Type.Object(
        {
          q: requiredText(SEARCH_MAX_CHARS, 'Part of a name, or the beginning of an id.'),
          limit: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: SEARCH_RESULTS_MAX,
              default: 5,
              description: 'Results of each type.',
            }),
          ),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query }) => {
      const { q, limit = 5 } = query;
      const names = new Set(executors.list().map(({ executor }) => executor));
      const matching = [...names].filter((name) => name.toLowerCase().includes(q.toLowerCase())).slice(0, limit);
      return searchToWire(await runs.search(q, limit), matching);
    },
  });
}
