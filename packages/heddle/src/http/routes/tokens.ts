import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { CreatedTokenDto, NewTokenDto, TokenDto, TokenParameters, tokenToWire } from '../wire/token.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { NoQuery } from './parameters.ts';

const TAG = 'Access';
const ADMIN = { scope: 'admin' } as const;

export function tokenRoutes(app: App, context: RouteContext): void {
  listRoute(app, context);
  createRoute(app, context);
  revokeRoute(app, context);
}

function listRoute(app: App, { tokens, clock }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/tokens',
    config: ADMIN,
    schema: {
      ...documented({
        summary: 'List tokens',
        description: 'Without the tokens themselves, the oldest first; also revoked and expired ones.',
        tag: TAG,
        ...ADMIN,
        answers: { 200: { description: 'All tokens.', schema: Type.Array(TokenDto) } },
      }),
      querystring: NoQuery,
    },
    handler: async () => (await tokens.list()).map((token) => tokenToWire(token, clock.now())),
  });
}

function createRoute(app: App, { tokens, clock }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/tokens',
    config: ADMIN,
    schema: {
      ...documented({
        summary: 'Create a token',
        description: '`token` in the response is shown once: only its hash is stored.',
        tag: TAG,
        ...ADMIN,
        answers: { 201: { description: 'The token.', schema: CreatedTokenDto } },
        problems: [413, 415],
      }),
      querystring: NoQuery,
      body: NewTokenDto,
    },
    handler: async (request, reply) => {
      const { name, scopes, kinds = null, classes = null, expires_in_secs = null } = request.body;
      const expiresAt = expires_in_secs === null ? null : clock.now() + expires_in_secs * 1000;
      const { text, token } = await tokens.create(name, scopes, expiresAt, { kinds, classes });
      request.heddle.created = `${token.id} ${name} ${token.scopes.join(',')}`;
      void reply.header('cache-control', 'no-store');
      return reply.code(201).send({ ...tokenToWire(token, clock.now()), token: text });
    },
  });
}

function revokeRoute(app: App, { tokens }: RouteContext): void {
  app.route({
    method: 'DELETE',
    url: '/v1/tokens/:token_id',
    config: ADMIN,
    schema: {
      ...documented({
        summary: 'Revoke a token',
        description:
          'It stops working within seconds, and so do the sessions that it opened. Revoking it again has no effect.',
        tag: TAG,
        ...ADMIN,
        answers: { 204: { description: 'Revoked.' } },
        problems: [404],
      }),
      params: TokenParameters,
      querystring: NoQuery,
    },
    handler: async (request, reply) => {
      const id = request.params.token_id.toLowerCase();
      const isKnown = (await tokens.revoke(id)) !== null || (await tokens.list()).some((token) => token.id === id);
      if (isKnown) return reply.code(204).send();
      throw new HeddleError('NOT_FOUND', `No such token: ${id}`, {
        details: ['token_id: there is no such token; list them with /v1/tokens'],
      });
    },
  });
}
