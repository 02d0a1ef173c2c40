import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { isSameOwner } from '@heddle/core/domain/session';
import { grants } from '@heddle/core/domain/token';
import { SessionDto, SessionParameters, sessionToWire } from '../wire/session.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { textFilter } from './filters.ts';
import { NoQuery } from './parameters.ts';

const TAG = 'Access';
const OWN = { scope: 'read' } as const;
const USER_CHARS_MAX = 500;

/** Logins of browsers: users manage their own, administrators all. */
export function sessionsRoutes(app: App, { sessions, sessionRepository }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/sessions',
    config: OWN,
    schema: {
      ...documented({
        summary: 'List sessions',
        description: 'Logins of browsers, the last used first: the caller’s own, for `admin` all; at most 1,000.',
        tag: TAG,
        ...OWN,
        answers: { 200: { description: 'Live sessions.', schema: Type.Array(SessionDto) } },
      }),
      querystring: Type.Object(
        { user: textFilter(USER_CHARS_MAX, 'Only of users of this name.') },
        { additionalProperties: false },
      ),
    },
    handler: async (request) => {
      const { owner, sessionId } = request.heddle;
      const listed = await sessionRepository.list(seesAll(request) ? null : owner, request.query.user ?? null);
      return listed.map((session) => sessionToWire(session, sessionId));
    },
  });
  app.route({
    method: 'DELETE',
    url: '/v1/sessions/:session_id',
    config: { ...OWN, audited: true },
    schema: {
      ...documented({
        summary: 'End a session',
        description: 'The browser is logged out within seconds. One’s own; any with `admin`.',
        tag: TAG,
        ...OWN,
        answers: { 204: { description: 'Ended.' } },
        problems: [404],
      }),
      params: SessionParameters,
      querystring: NoQuery,
    },
    handler: async (request, reply) => {
      const { owner } = request.heddle;
      const id = request.params.session_id.toLowerCase();
      const session = await sessionRepository.get(id);
      const isOwn = session !== null && owner !== null && isSameOwner(session, owner);
      if (session === null || !(isOwn || seesAll(request))) {
        throw new HeddleError('NOT_FOUND', `No such session: ${id}`, {
          details: ['session_id: there is no such session; list them with /v1/sessions'],
        });
      }
      await sessions.end(session);
      return reply.code(204).send();
    },
  });
}

function seesAll({ heddle: { scopes } }: FastifyRequest): boolean {
  return scopes === null || grants(scopes, 'admin');
}
