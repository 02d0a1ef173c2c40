import type { TSchema } from 'typebox';

import type { TokenScope } from '@heddle/core/domain/token';
import { securityOf } from '../auth.ts';
import { PROBLEM_TYPE, ProblemDto } from '../wire/problem.ts';

/** The response of a route on success. */
export interface Answer {
  description: string;
  schema?: TSchema;
  /** Media type; JSON where absent. */
  type?: string;
  headers?: Record<string, string>;
}

export interface RouteDescription {
  summary: string;
  description?: string;
  tag:
    | 'Runs'
    | 'Home'
    | 'Tasks'
    | 'Batches'
    | 'Workflows'
    | 'Kinds'
    | 'Work'
    | 'Jobs'
    | 'Findings'
    | 'Models'
    | 'Executors'
    | 'Pool'
    | 'Queues'
    | 'Webhooks'
    | 'Definitions'
    | 'Artifacts'
    | 'Secrets'
    | 'Audit'
    | 'Access'
    | 'Service';
  /** Null for a public route. */
  scope: TokenScope | null;
  answers: Readonly<Record<number, Answer>>;
  /** Statuses of problems beside those of every route. */
  problems?: readonly number[];
}

const PROBLEM_DESCRIPTION: Readonly<Record<number, string>> = {
  400: 'The request is invalid; `details` names each field.',
  401: 'A valid bearer token, or the cookie of a session, is required.',
  403: 'The token, session or handle does not allow this, or the request is of another site.',
  404: 'Not found.',
  409: 'Its state does not allow this operation.',
  413: 'The body is too large.',
  415: 'The body is not application/json.',
  422: 'The idempotency key was already used with another body.',
  429: 'Too many requests are waiting, or too many logins have failed; try again after `Retry-After` seconds.',
  500: 'Internal error.',
  503: 'The database is unavailable or the server is stopping; try again after `Retry-After` seconds.',
};

/**
 * Returns the part of a route's schema that documents it: summary, tag, security and every response with its schema.
 */
export function documented(route: RouteDescription) {
  const statuses = [400, ...(route.scope === null ? [] : [401, 403]), 500, 503, ...(route.problems ?? [])];
  const problems = Object.fromEntries(
    statuses
      .filter((status) => !(status in route.answers))
      .map((status) => [
        status,
        { description: PROBLEM_DESCRIPTION[status]!, content: { [PROBLEM_TYPE]: { schema: ProblemDto } } },
      ]),
  );
  const answers = Object.fromEntries(
    Object.entries(route.answers).map(([status, answer]) => [status, answerOf(answer)]),
  );
  return {
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [route.tag],
    security: securityOf(route.scope),
    response: { ...answers, ...problems } as Record<number, unknown>,
  };
}

function answerOf(answer: Answer): unknown {
  const headers = Object.fromEntries(
    Object.entries(answer.headers ?? {}).map(([name, description]) => [name, { type: 'string', description }]),
  );
  return {
    description: answer.description,
    ...(answer.headers === undefined ? {} : { headers }),
    ...(answer.schema === undefined
      ? { type: 'null' }
      : { content: { [answer.type ?? 'application/json']: { schema: answer.schema } } }),
  };
}
