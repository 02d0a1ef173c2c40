import type { IncomingMessage } from 'node:http';
import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { artifactNameFault } from '@heddle/base/vocabulary/artifact';
import type { ContentId } from '@heddle/core/engine/port';
import { callerOf } from '../live/work-holders.ts';
import { ArtifactDto, artifactToWire, FoundArtifactDto, NewUploadDto, UploadDto } from '../wire/artifact.ts';
import { isoTime } from '../wire/basics.ts';
import { Holder } from '../wire/work.ts';
import { found, LIFE_DEFAULT_SECS, urlOf } from './artifacts.ts';
import type { App, RouteContext } from './context.ts';
import { idOf, TaskParameters } from './parameters.ts';
import { requireTask } from './transitions.ts';
import { BODY_PROBLEMS, describeWork, onTask } from './work-task.ts';

const REFERENCE_CHARS_MAX = 800;

/** Artifacts as workers without the store use them. */
export function workArtifactRoutes(app: App, context: RouteContext): void {
  findRoute(app, context);
  putRoute(app, context);
  uploadRoute(app, context);
  uploadedRoute(app, context);
}

function findRoute(app: App, context: RouteContext): void {
  const { artifacts, engine, holders } = context;
  app.route({
    method: 'GET',
    url: '/v1/work/:task_id/artifact',
    config: onTask.config,
    schema: {
      ...describeWork({
        summary: 'Find an artifact that a task refers to',
        description: 'For workers: the artifact, and a signed URL of its content.',
        answers: { 200: { description: 'The artifact.', schema: FoundArtifactDto } },
        problems: [404, 409],
      }),
      params: TaskParameters,
      querystring: Type.Object(
        {
          artifact: Type.String({
            minLength: 1,
            maxLength: REFERENCE_CHARS_MAX,
            description: 'Its id; or `NODE/NAME`: the `local_id` of a task of the workflow, or the id of any task.',
          }),
          holder: Holder,
        },
        { additionalProperties: false },
      ),
    },
    handler: async (request) => {
      const task = await requireTask(engine, idOf(request.params));
      await holders.requireReader(task.id, callerOf(request, request.query.holder));
      const { artifact: reference } = request.query;
      const artifact = found(await artifacts.find(task.id, reference), reference);
      return { artifact: artifactToWire(artifact), ...(await urlOf(context, artifact, LIFE_DEFAULT_SECS)) };
    },
  });
}

function putRoute(app: App, { artifacts, holders }: RouteContext): void {
  app.route({
    method: 'PUT',
    url: '/v1/work/:task_id/artifacts',
    config: { ...onTask.config, streamed: true },
    schema: {
      ...describeWork({
        summary: 'Store an artifact of a task',
        description:
          'For workers: the body is the content, `application/octet-stream`. Replaces the one of the same name and attempt.',
        answers: { 200: { description: 'The stored artifact.', schema: ArtifactDto } },
        problems: [404, 409, 413, 415],
      }),
      params: TaskParameters,
      querystring: Type.Object(
        {
          name: Type.String({ minLength: 1, maxLength: 500, description: 'A relative path.' }),
          attempt: Type.Integer({ minimum: 1, description: 'The attempt of the claim.' }),
          holder: Holder,
        },
        { additionalProperties: false },
      ),
    },
    handler: async (request, reply) => {
      const { name, attempt, holder } = request.query;
      const task_id = idOf(request.params);
      await holders.requireWorker(task_id, attempt, callerOf(request, holder));
      const fault = artifactNameFault(name);
      if (fault !== null) throw new HeddleError('INVALID_QUERY', undefined, { details: [`name: ${fault}`] });
      const content = (request.body ?? []) as IncomingMessage | [];
      try {
        return artifactToWire(await artifacts.put({ task_id, attempt }, name, content));
      } catch (error) {
        // The rest of the body would be read as the next request.
        void reply.header('connection', 'close');
        throw error;
      }
    },
  });
}

const uploadDescription = `For workers: where to send the content themselves, so that it does not pass through the server;
\`upload\` is null if that is not possible. Report it with \`/uploaded\` afterwards.`;

function uploadRoute(app: App, { artifacts, holders }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/work/:task_id/upload',
    config: onTask.config,
    schema: {
      ...describeWork({
        summary: 'Upload an artifact of a task to the object store',
        description: uploadDescription,
        answers: { 200: { description: 'Where to send it.', schema: UploadDto } },
        problems: BODY_PROBLEMS,
      }),
      params: onTask.params,
      querystring: onTask.querystring,
      body: NewUploadDto,
    },
    handler: async (request) => {
      const { attempt, holder, name } = request.body;
      await holders.requireWorker(idOf(request.params), attempt, callerOf(request, holder));
      const target = await artifacts.uploadTarget(name, contentOf(request.body));
      return { upload: target === null ? null : { ...target, expires_at: isoTime(target.expires_at) } };
    },
  });
}

function uploadedRoute(app: App, { artifacts, holders }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/work/:task_id/uploaded',
    config: onTask.config,
    schema: {
      ...describeWork({
        summary: 'Report that an artifact was uploaded',
        description: 'For workers, after `/upload`. Replaces the artifact of the same name and attempt.',
        answers: { 200: { description: 'The stored artifact.', schema: ArtifactDto } },
        problems: BODY_PROBLEMS,
      }),
      params: onTask.params,
      querystring: onTask.querystring,
      body: NewUploadDto,
    },
    handler: async (request) => {
      const { attempt, holder, name } = request.body;
      const task_id = idOf(request.params);
      await holders.requireWorker(task_id, attempt, callerOf(request, holder));
      return artifactToWire(await artifacts.putUploaded({ task_id, attempt }, name, contentOf(request.body)));
    },
  });
}

function contentOf({ sha256, size }: NewUploadDto): ContentId {
  return { digest: Buffer.from(sha256, 'hex'), size };
}
