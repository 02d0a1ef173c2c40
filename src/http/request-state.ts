import type { FastifyRequest } from 'fastify';

import { grants, type TokenScope } from '../domain/token.ts';
import type { HeddleError } from '../domain/errors.ts';
import type { BodyLimits } from './body-limits.ts';

/** What one request carries from hook to hook. */
export interface RequestState {
  startedAt: number;
  /** The trace context to hand on; null where there is none. */
  traceparent: string | null;
  /** Ends the request's span, where there is one. */
  endSpan: ((status: number) => void) | null;
  /** The attempt that a valid handle speaks for; null where the caller is not a handle. */
  handleAttempt: number | null;
  /** The name of the token that let it through; null where none was needed. */
  tokenName: string | null;
  /** What that token may do; null where none was needed. */
  scopes: readonly TokenScope[] | null;
  /** The batch that this request would create. */
  batchId: string | null;
  bodyFault: HeddleError | null;
  bodyBytes: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that the route asks for; null: open to everybody. */
    scope?: TokenScope | null;
    /** Whether a task's signed handle stands in for a token. */
    handle?: boolean;
    /** Whether pages of other sites may not even read it. */
    sameOrigin?: boolean;
    /** What paths into the body start with. */
    bodyRoot?: string;
    /** What the body may hold, where that is more than one thing. */
    body?: BodyLimits;
    /** Levels of nesting that the body may have, where they are more than usual. */
    bodyDepth?: number;
  }
  interface FastifyRequest {
    heddle: RequestState;
  }
}

export function newRequestState(startedAt: number): RequestState {
  return {
    startedAt,
    traceparent: null,
    endSpan: null,
    handleAttempt: null,
    tokenName: null,
    scopes: null,
    batchId: null,
    bodyFault: null,
    bodyBytes: 0,
  };
}

/** Whether the caller sees what was stored as it was given, secrets of its requests included: who may replace it. */
export function seesSecrets({ heddle: { scopes } }: FastifyRequest): boolean {
  return scopes === null || grants(scopes, 'operate');
}

/** The pattern of the route that serves the request, never its address. */
export function routeOf(request: FastifyRequest): string {
  return request.routeOptions.url ?? 'unknown';
}
