import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { NewSecretDto, RotatedSecretsDto, SecretDto, SecretNameParameters, secretToWire } from '../wire/secret.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { NoQuery } from './parameters.ts';

const TAG = 'Secrets';
const ADMIN = { scope: 'admin' } as const;

/** Secrets that inputs and headers name. No route returns a value. */
export function secretRoutes(app: App, { namedSecrets }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/secrets',
    config: ADMIN,
    schema: {
      ...documented({
        summary: 'List secrets',
        description: 'By name, without their values.',
        tag: TAG,
        ...ADMIN,
        answers: { 200: { description: 'All secrets.', schema: Type.Array(SecretDto) } },
      }),
      querystring: NoQuery,
    },
    handler: async () => (await namedSecrets.list()).map(secretToWire),
  });
  app.route({
    method: 'PUT',
    url: '/v1/secrets/:name',
    config: ADMIN,
    schema: {
      ...documented({
        summary: 'Set a secret',
        description: 'Replaces its value. Without `grants` an existing secret keeps those that it has.',
        tag: TAG,
        ...ADMIN,
        answers: { 200: { description: 'The secret, without its value.', schema: SecretDto } },
        problems: [409, 413, 415],
      }),
      params: SecretNameParameters,
      querystring: NoQuery,
      body: NewSecretDto,
    },
    handler: async ({ params: { name }, body: { value, grants } }) => {
      requireOrigins(grants ?? []);
      return secretToWire(await namedSecrets.set(name, value, grants ?? null));
    },
  });
  app.route({
    method: 'DELETE',
    url: '/v1/secrets/:name',
    config: ADMIN,
    schema: {
      ...documented({
        summary: 'Delete a secret',
        description: 'Tasks and webhooks that name it fail.',
        tag: TAG,
        ...ADMIN,
        answers: { 204: { description: 'Deleted.' } },
        problems: [404],
      }),
      params: SecretNameParameters,
      querystring: NoQuery,
    },
    handler: async ({ params: { name } }, reply) => {
      if (await namedSecrets.remove(name)) return reply.code(204).send();
      throw new HeddleError('NOT_FOUND', `No such secret: ${name}`, {
        details: [`name: there is no secret ${name}; list them with /v1/secrets`],
      });
    },
  });
  app.route({
    method: 'POST',
    url: '/v1/secrets/rotate',
    config: ADMIN,
    schema: {
      ...documented({
        summary: 'Encrypt all secrets with the first key',
        description: 'Afterwards older keys can be removed from servers and workers.',
        tag: TAG,
        ...ADMIN,
        answers: { 200: { description: 'How many had an older key.', schema: RotatedSecretsDto } },
        problems: [409],
      }),
      querystring: NoQuery,
    },
    handler: async () => ({ rotated: await namedSecrets.rotate() }),
  });
}

/** An address that is no origin would never match. */
function requireOrigins(grants: readonly string[]): void {
  const faults = grants.flatMap((grant, index) => {
    if (!/^https?:/i.test(grant)) return [];
    const origin = URL.parse(grant)?.origin;
    return origin === grant ? [] : [`grants[${index}]: must be an origin, such as ${origin ?? 'https://example.com'}`];
  });
  if (faults.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details: faults });
}
