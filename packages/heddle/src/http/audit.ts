import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import type { AuditRecord } from '@heddle/base/vocabulary/audit';
import type { AuditLog } from '@heddle/core/engine/audit-log';

const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Records every call that changed something, or was forbidden to a valid token, before it is answered. What workers and webhook targets
 * report is no action of a person: attempts show it.
 */
export function auditCalls(app: FastifyInstance, audit: Pick<AuditLog, 'record'>): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (!isUnrecorded(request, reply.statusCode)) {
      done(null, payload);
      return;
    }
    const record = recordOf(request, {
      object: objectOf(request, reply),
      status: reply.statusCode,
      address: request.ip,
    });
    audit.record(record).then(() => done(null, payload), done);
  });
}

type AuditedCall = Pick<FastifyRequest, 'method' | 'heddle'>;

/** Returns whether a call that is answered with this status must still be recorded in the audit log. */
export function isUnrecorded({ method, heddle }: AuditedCall, status: number): boolean {
  const { route, handleAttempt, tokenName } = heddle;
  const { scope, reportsWork, audited, url } = route;
  if (url === undefined || heddle.audited) return false;
  if (audited === true) return status < 400 && tokenName !== null;
  if (READING.has(method)) return false;
  if (scope === 'work' || scope === 'read' || scope === null || reportsWork === true || handleAttempt !== null)
    return false;
  // Pages of other sites and forged handles are refused with 403 as well: a stranger must not fill the log.
  return status < 400 || (status === 403 && tokenName !== null);
}

export function recordOf(
  { method, heddle: { route, tokenName } }: AuditedCall,
  { object, status, address }: Pick<AuditRecord, 'object' | 'status' | 'address'>,
): Omit<AuditRecord, 'at'> {
  return { actor: tokenName, action: `${method} ${route.url}`, object, status, address };
}

/** What the path names, else what was created. */
function objectOf(request: FastifyRequest, reply: FastifyReply): string | null {
  const named = Object.values((request.params ?? {}) as Record<string, string>);
  if (named.length > 0) return named.join(' ');
  const { batchId, created } = request.heddle;
  const location = reply.getHeader('location');
  return created ?? batchId ?? (typeof location === 'string' ? location.split('/').at(-1)! : null);
}
