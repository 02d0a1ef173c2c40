import { Type, type Static } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { runStateOfWire, RUN_WIRE_STATES, type RunWireState } from '@heddle/base/vocabulary/run';
import type { RunQuery } from '@heddle/core/engine/runs/port';
import { oneOf, Uuid } from '../wire/basics.ts';
import {
  RunDetailDto,
  runDetailToWire,
  RunListDto,
  runListToWire,
  RunNameListDto,
  runNamesToWire,
  RunTypeDto,
} from '../wire/run.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { Fingerprint, metadataFilter, readMetadataFilter, textFilter, timeFilter, timeOf } from './filters.ts';
import { NoQuery, pageProperties } from './parameters.ts';

const NAME_MAX_CHARS = 255;

export const RunParameters = Type.Object({ run_id: Uuid('The batch or workflow.') }, { additionalProperties: false });

const RunState = Type.Unsafe<'open' | 'failing' | RunWireState>(
  oneOf(['open', 'failing', ...RUN_WIRE_STATES], {
    description:
      '`open`: with tasks that have not ended; `failing`: with failed tasks, whether it has ended or not; or one state.',
  }),
);

const after = Type.Optional(Uuid('The `next` of the page before.'));

const filters = {
  state: Type.Optional(RunState),
  name: textFilter(NAME_MAX_CHARS, 'Only with this name.'),
  q: textFilter(NAME_MAX_CHARS, 'Only with this part of the name, case-insensitive.'),
  type: Type.Optional(RunTypeDto),
  kind: textFilter(NAME_MAX_CHARS, 'Only with tasks of this kind.'),
  job: textFilter(NAME_MAX_CHARS, 'Only of this job, by id or name; the latest 10,000 of its runs.'),
  fingerprint: Type.Optional(Fingerprint('Only with tasks of this group of failures: the latest 10,000 of it.')),
  metadata: metadataFilter('A JSON object that the metadata of a task must contain.'),
  since: timeFilter('Only created at or after this time'),
  until: timeFilter('Only created before this time'),
};

/** Routes of runs: batches and workflows in one list. */
export function runRoutes(app: App, context: RouteContext): void {
  listRoute(app, context);
  namesRoute(app, context);
  getRoute(app, context);
}

const listDescription = `Batches and workflows, newest first. A search for batches, part of the name, kind, metadata, time, or the
states \`Waiting\`, \`Running\`, \`Paused\` and \`Succeeded\` examines at most 5,000 runs for a page (by metadata: runs of at
most 100,000 tasks), so a page may have few runs or none although \`next\` leads to more.`;

function listRoute(app: App, { runs, config }: RouteContext): void {
  const querystring = Type.Object(
    { page_size: pageProperties(config.pagination).page_size, after, ...filters },
    { additionalProperties: false },
  );
  app.route({
    method: 'GET',
    url: '/v1/runs',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List runs',
        description: listDescription,
        tag: 'Runs',
        scope: 'read',
        answers: { 200: { description: 'One page of runs.', schema: RunListDto } },
      }),
      querystring,
    },
    handler: async ({ query }) => {
      const page = { after: query.after?.toLowerCase() ?? null, limit: query.page_size ?? config.pagination.default };
      return runListToWire(await runs.list(queryOf(query), page));
    },
  });
}

function queryOf(query: Static<ReturnType<typeof Type.Object<typeof filters>>>): RunQuery {
  const { state, metadata, since, until, name, q, type, kind, job, fingerprint } = query;
  return {
    ...(state === undefined ? {} : { state: state === 'open' || state === 'failing' ? state : runStateOfWire(state) }),
    ...(name === undefined ? {} : { name }),
    ...(q === undefined ? {} : { q }),
    ...(type === undefined ? {} : { type }),
    ...(kind === undefined ? {} : { kind }),
    ...(job === undefined ? {} : { job }),
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(metadata === undefined ? {} : { metadata: readMetadataFilter(metadata) }),
    ...(since === undefined ? {} : { since: timeOf('since', since) }),
    ...(until === undefined ? {} : { until: timeOf('until', until) }),
  };
}

function namesRoute(app: App, { runs, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/runs/names',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List the names of runs',
        description: 'Each name once, by its newest run. A page examines at most 5,000 runs.',
        tag: 'Runs',
        scope: 'read',
        answers: { 200: { description: 'One page of names.', schema: RunNameListDto } },
      }),
      querystring: Type.Object(
        {
          page_size: pageProperties(config.pagination).page_size,
          after,
          q: textFilter(NAME_MAX_CHARS, 'Only with this part, case-insensitive.'),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query }) => {
      const page = { after: query.after?.toLowerCase() ?? null, limit: query.page_size ?? config.pagination.default };
      return runNamesToWire(await runs.names(query.q, page));
    },
  });
}

function getRoute(app: App, { runs }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/runs/:run_id',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get a run',
        tag: 'Runs',
        scope: 'read',
        answers: { 200: { description: 'The run.', schema: RunDetailDto } },
        problems: [404],
      }),
      params: RunParameters,
      querystring: NoQuery,
    },
    handler: async ({ params }) => {
      const id = params.run_id.toLowerCase();
      const run = await runs.get(id);
      if (run === null) throw runNotFound(id);
      return runDetailToWire(run);
    },
  });
}

export function runNotFound(id: string): HeddleError {
  return new HeddleError('NOT_FOUND', `No such run: ${id}`, {
    details: [`run_id: no batch or workflow has the id ${id}; list them with /v1/runs`],
  });
}
