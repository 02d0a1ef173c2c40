import type { FastifyRequest } from 'fastify';

import { grants, type TokenScope } from '@heddle/core/domain/token';
import type { OwnerKey } from '@heddle/core/domain/session';
import type { HeddleError } from '@heddle/base/errors';
import type { BodyLimits } from './body-limits.ts';

/** The configuration of a route; without `url` for requests that no route matches. */
export type RouteConfig = Readonly<Omit<FastifyRequest['routeOptions']['config'], 'url'> & { url?: string }>;

/** State that one request passes from hook to hook. */
export interface RequestState {
  startedAt: number;
  /** The route that serves the request; the framework builds a new description whenever it is asked. */
  readonly route: RouteConfig;
  /** The trace context to propagate; null if there is none. */
  traceparent: string | null;
  /** Ends the request's span, if there is one. */
  endSpan: ((status: number) => void) | null;
  /** The attempt of a valid handle; null if the caller has no handle. */
  handleAttempt: number | null;
  /** The name of the token or user that authorized it; null if none was needed. */
  tokenName: string | null;
  /** The token or identity that authorized it, itself or by a session; null if none was needed. */
  owner: OwnerKey | null;
  /** The session that authorized it; null if none did. */
  sessionId: string | null;
  /** Returns whether its token or session is still live: long responses end with it. Null if none was needed. */
  isStillAdmitted: (() => Promise<boolean>) | null;
  /** Scopes of that token or user; null if none was needed. */
  scopes: readonly TokenScope[] | null;
  /** The kinds that the token may claim; null: any. */
  kinds: readonly string[] | null;
  /** The classes of runners that the token may register; null: any. */
  classes: readonly string[] | null;
  /** The runner whose credential authorized it; null: none. */
  runner: string | null;
  /** The batch that this request would create. */
  batchId: string | null;
  /** What else it created, for the audit log. */
  created: string | null;
  /** Whether its entry of the audit log is stored. */
  audited: boolean;
  bodyFault: HeddleError | null;
  bodyBytes: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that the route requires; null for a public route. */
    scope?: TokenScope | null;
    /** Whether a task's signed handle can replace a token. */
    handle?: boolean;
    /** Whether a signed URL can replace a token. */
    signed?: boolean;
    /** Whether the credential of a runner can replace a token. */
    runner?: boolean;
    /** Whether the handler reads the body itself, of any type and length. */
    streamed?: boolean;
    /** Whether its calls are reports of work, which the audit log leaves to attempts. */
    reportsWork?: boolean;
    /** Whether the audit log has its calls although they need no scope, or only `read`: those of known users. */
    audited?: boolean;
    /** Whether pages of other sites may not even read it. */
    sameOrigin?: boolean;
    /** Prefix of paths into the body. */
    bodyRoot?: string;
    /** Limit of the body if it is larger than one object. */
    body?: BodyLimits;
    /** Nesting depth of the body if it is larger than usual. */
    bodyDepth?: number;
  }
  interface FastifyRequest {
    heddle: RequestState;
  }
}

export function newRequestState(startedAt: number, route: RouteConfig): RequestState {
  return {
    startedAt,
    route,
    traceparent: null,
    endSpan: null,
    handleAttempt: null,
    tokenName: null,
    owner: null,
    sessionId: null,
    isStillAdmitted: null,
    scopes: null,
    kinds: null,
    classes: null,
    runner: null,
    batchId: null,
    created: null,
    audited: false,
    bodyFault: null,
    bodyBytes: 0,
  };
}

/** Returns whether the caller may see stored secrets of requests: those who may replace them. */
export function seesSecrets({ heddle: { scopes } }: FastifyRequest): boolean {
  return scopes === null || grants(scopes, 'operate');
}

/** The pattern of the route that serves the request, never its URL. */
export function routeOf({ heddle: { route } }: Pick<FastifyRequest, 'heddle'>): string {
  return route.url ?? 'unknown';
}
