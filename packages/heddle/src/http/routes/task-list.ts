import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import type { JsonObject } from '@heddle/base/json';
import { statesOfBatchWire } from '@heddle/base/vocabulary/task-state';
import { parseStrictJson } from '@heddle/base/json/parse';
import { Status, Uuid } from '../wire/basics.ts';
import { BasicTaskDto, basicTaskToWire } from '../wire/task.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { pageOf, pageProperties } from './parameters.ts';

const FILTER_MAX_CHARS = 255;

export function taskListRoutes(app: App, { engine, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/task',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List tasks',
        description: 'Newest first. An invalid filter is rejected with 400; none is ignored.',
        tag: 'Tasks',
        scope: 'read',
        answers: { 200: { description: 'One page of tasks.', schema: Type.Array(BasicTaskDto) } },
      }),
      querystring: Type.Object(
        {
          ...pageProperties(config.pagination),
          status: Type.Optional(Status),
          kind: Type.Optional(Type.String({ maxLength: FILTER_MAX_CHARS, description: 'Part of the kind.' })),
          name: Type.Optional(Type.String({ maxLength: FILTER_MAX_CHARS, description: 'Part of the name.' })),
          batch_id: Type.Optional(Uuid('Tasks of this batch.')),
          metadata: Type.Optional(
            Type.String({ maxLength: 8192, description: 'A JSON object that the metadata must contain.' }),
          ),
        },
        { additionalProperties: false },
      ),
    },
    handler: async (request) => {
      const { status, kind, name, batch_id, metadata } = request.query;
      const tasks = await engine.listTasks({
        ...pageOf(request.query, config.pagination),
        ...(status === undefined ? {} : { states: statesOfBatchWire(status) }),
        ...(kind === undefined ? {} : { kind }),
        ...(name === undefined ? {} : { name }),
        ...(batch_id === undefined ? {} : { workflow_id: batch_id.toLowerCase() }),
        ...(metadata === undefined ? {} : { metadata: readMetadataFilter(metadata) }),
      });
      return tasks.map(basicTaskToWire);
    },
  });
}

function readMetadataFilter(text: string): JsonObject {
  let value: unknown;
  try {
    value = parseStrictJson(Buffer.from(text), 'metadata');
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    const details = error.details.map((detail) => detail.replace(/^body:/, 'metadata:'));
    throw new HeddleError('INVALID_QUERY', undefined, { details, cause: error });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw new HeddleError('INVALID_QUERY', undefined, {
    details: ['metadata: must be a JSON object, such as {"key":"value"}'],
  });
}
