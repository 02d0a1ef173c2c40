import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import type { Artifact } from '@heddle/core/engine/port';
import { ArtifactDto, artifactToWire, ArtifactUrlDto, PinArtifactDto } from '../wire/artifact.ts';
import { isoTime, Uuid } from '../wire/basics.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { idOf, NoQuery, TaskParameters } from './parameters.ts';
import { requireAttempt, requireTask } from './transitions.ts';

const ArtifactParameters = Type.Object({ artifact_id: Uuid('The artifact.') }, { additionalProperties: false });
export const LIFE_DEFAULT_SECS = 3_600;
const LIFE_MAX_SECS = 604_800;
const TAG = 'Artifacts';

export function artifactRoutes(app: App, context: RouteContext): void {
  listRoute(app, context);
  getRoute(app, context);
  contentRoute(app, context);
  urlRoute(app, context);
  pinRoute(app, context);
}

function listRoute(app: App, { artifacts, engine }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/tasks/:task_id/artifacts',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List the artifacts of a task',
        description: 'Of all its attempts, the newest first, by name.',
        tag: TAG,
        scope: 'read',
        answers: { 200: { description: 'Its artifacts.', schema: Type.Array(ArtifactDto) } },
        problems: [404],
      }),
      params: TaskParameters,
      querystring: Type.Object(
        { attempt: Type.Optional(Type.Integer({ minimum: 1, description: 'Only of this attempt.' })) },
        { additionalProperties: false },
      ),
    },
    handler: async ({ params, query }) => {
      const id = idOf(params);
      const found = await artifacts.list(id, query.attempt ?? null);
      // Pinned artifacts outlive their task.
      if (found.length === 0) requireAttempt(await requireTask(engine, id), query.attempt ?? null);
      return found.map(artifactToWire);
    },
  });
}

function getRoute(app: App, context: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/artifacts/:artifact_id',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get an artifact',
        tag: TAG,
        scope: 'read',
        answers: { 200: { description: 'The artifact, without its content.', schema: ArtifactDto } },
        problems: [404],
      }),
      params: ArtifactParameters,
      querystring: NoQuery,
    },
    handler: async ({ params }) => artifactToWire(await requireArtifact(context, params.artifact_id)),
  });
}

function contentRoute(app: App, context: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/artifacts/:artifact_id/content',
    config: { scope: 'read', signed: true },
    schema: {
      ...documented({
        summary: 'Download an artifact',
        description: 'With a token, or by a signed URL. `etag` is its SHA-256.',
        tag: TAG,
        scope: 'read',
        answers: { 200: { description: 'Its content.', schema: Type.String(), type: 'application/octet-stream' } },
        problems: [404],
      }),
      params: ArtifactParameters,
      querystring: Type.Object(
        {
          expires: Type.Optional(Type.Integer({ minimum: 0, description: 'Of a signed URL.' })),
          signature: Type.Optional(Type.String({ maxLength: 200, description: 'Of a signed URL.' })),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ params }, reply) => {
      const artifact = await requireArtifact(context, params.artifact_id);
      const content = await context.artifacts.read(artifact);
      const name = encodeURIComponent(artifact.name.split('/').at(-1)!);
      // Never shown in the origin of the console: anyone who may submit a task chooses the content.
      return reply
        .header('content-type', 'application/octet-stream')
        .header('content-length', artifact.size)
        .header('content-disposition', `attachment; filename*=UTF-8''${name}`)
        .header('etag', `"${artifact.sha256}"`)
        .send(content);
    },
  });
}

function urlRoute(app: App, context: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/artifacts/:artifact_id/url',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Make a signed URL of an artifact',
        description: 'Anyone who has the URL can download the artifact until it expires.',
        tag: TAG,
        scope: 'read',
        answers: { 200: { description: 'The URL.', schema: ArtifactUrlDto } },
        problems: [404, 413, 415],
      }),
      params: ArtifactParameters,
      querystring: NoQuery,
      body: Type.Object(
        {
          expires_in_secs: Type.Optional(
            Type.Integer({ minimum: 1, maximum: LIFE_MAX_SECS, default: LIFE_DEFAULT_SECS, description: 'Lifetime.' }),
          ),
        },
        { additionalProperties: false, title: 'NewArtifactUrl' },
      ),
    },
    handler: async ({ params, body }) => {
      const artifact = await requireArtifact(context, params.artifact_id);
      return urlOf(context, artifact, body.expires_in_secs ?? LIFE_DEFAULT_SECS);
    },
  });
}

function pinRoute(app: App, { artifacts }: RouteContext): void {
  app.route({
    method: 'PATCH',
    url: '/v1/artifacts/:artifact_id',
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: 'Pin or unpin an artifact',
        description: 'A pinned artifact is kept when its task is deleted.',
        tag: TAG,
        scope: 'operate',
        answers: { 200: { description: 'The artifact.', schema: ArtifactDto } },
        problems: [404, 413, 415],
      }),
      params: ArtifactParameters,
      querystring: NoQuery,
      body: PinArtifactDto,
    },
    handler: async ({ params, body }) => {
      const id = params.artifact_id.toLowerCase();
      return artifactToWire(found(await artifacts.pin(id, body.pinned), id));
    },
  });
}

/** Returns a URL of the store if it has one, else of this server. */
export async function urlOf(
  { artifacts, signedUrls, clock }: RouteContext,
  artifact: Artifact,
  lifeSecs: number,
): Promise<{ url: string; expires_at: string; direct: boolean }> {
  const url = await artifacts.downloadUrl(artifact, lifeSecs);
  if (url === null) return { ...(await signedUrls.make(artifact.id, lifeSecs)), direct: false };
  return { url, expires_at: isoTime(clock.now() + lifeSecs * 1000), direct: true };
}

async function requireArtifact({ artifacts }: RouteContext, given: string): Promise<Artifact> {
  const id = given.toLowerCase();
  return found(await artifacts.get(id), id);
}

export function found(artifact: Artifact | null, reference: string): Artifact {
  if (artifact !== null) return artifact;
  throw new HeddleError('NOT_FOUND', `No such artifact: ${reference}`, {
    details: [`artifact: there is none; list those of a task with /v1/tasks/{task_id}/artifacts`],
  });
}
