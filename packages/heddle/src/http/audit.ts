import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import type { AuditLog } from '@heddle/core/engine/audit-log';
import { routeOf } from './request-state.ts';

const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Records every call that changed something, or was forbidden to a valid token, before it is answered. What workers and webhook targets
 * report is no action of a person: attempts tell of it.
 */
export function auditCalls(app: FastifyInstance, audit: Pick<AuditLog, 'record'>): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (isAction(request, reply)) {
      await audit.record({
        actor: request.heddle.tokenName,
        action: `${request.method} ${routeOf(request)}`,
        object: objectOf(request, reply),
        status: reply.statusCode,
        address: request.ip,
      });
    }
    return payload;
  });
}

function isAction(request: FastifyRequest, reply: FastifyReply): boolean {
  if (request.is404) return false;
  const { scope, reportsWork, audited } = request.routeOptions.config;
  const { handleAttempt, tokenName } = request.heddle;
  if (audited === true) return reply.statusCode < 400 && tokenName !== null;
  if (READING.has(request.method)) return false;
  if (scope === 'work' || scope === 'read' || scope === null || reportsWork === true || handleAttempt !== null)
    return false;
  // Pages of other sites and forged handles are refused with 403 as well: a stranger must not fill the log.
  return reply.statusCode < 400 || (reply.statusCode === 403 && tokenName !== null);
}

/** What the path names, else what was created. */
function objectOf(request: FastifyRequest, reply: FastifyReply): string | null {
  const named = Object.values((request.params ?? {}) as Record<string, string>);
  if (named.length > 0) return named.join(' ');
  const { batchId, created } = request.heddle;
  const location = reply.getHeader('location');
  return created ?? batchId ?? (typeof location === 'string' ? location.split('/').at(-1)! : null);
}
