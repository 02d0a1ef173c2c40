import { Type } from 'typebox';

import { statesOfBatchWire } from '@heddle/base/vocabulary/task-state';
import { Status, Uuid } from '../wire/basics.ts';
import { BasicTaskDto, basicTaskToWire } from '../wire/task.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { metadataFilter, readMetadataFilter } from './filters.ts';
import { answerPage, cursorHeaders, cursorProperties } from './cursors.ts';

const FILTER_MAX_CHARS = 255;
const EXAMINED = `A page examines at most 20,000 tasks, so one with \`Link\` may be short or empty.`;

export function taskListRoutes(app: App, { engine, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/task',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List tasks',
        description: `Newest first. An invalid filter is rejected with 400; none is ignored. ${EXAMINED}`,
        tag: 'Tasks',
        scope: 'read',
        answers: {
          200: { description: 'One page of tasks.', schema: Type.Array(BasicTaskDto), headers: cursorHeaders },
        },
      }),
      querystring: Type.Object(
        {
          ...cursorProperties(config.pagination),
          status: Type.Optional(Status),
          kind: Type.Optional(Type.String({ maxLength: FILTER_MAX_CHARS, description: 'Part of the kind.' })),
          name: Type.Optional(Type.String({ maxLength: FILTER_MAX_CHARS, description: 'Part of the name.' })),
          batch_id: Type.Optional(Uuid('Tasks of this batch.')),
          metadata: metadataFilter('A JSON object that the metadata must contain.'),
        },
        { additionalProperties: false },
      ),
    },
    handler: (request, reply) => {
      const { status, kind, name, batch_id, metadata } = request.query;
      const filter = {
        ...(status === undefined ? {} : { states: statesOfBatchWire(status) }),
        ...(kind === undefined ? {} : { kind }),
        ...(name === undefined ? {} : { name }),
        ...(batch_id === undefined ? {} : { workflow_id: batch_id.toLowerCase() }),
        ...(metadata === undefined ? {} : { metadata: readMetadataFilter(metadata) }),
      };
      return answerPage(reply, request.query, config.pagination, async (place) => {
        const { tasks, next } = await engine.listTasks({ ...filter, ...place });
        return { items: tasks.map(basicTaskToWire), next };
      });
    },
  });
}
