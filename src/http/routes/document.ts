import type { TSchema } from 'typebox';

import type { TokenScope } from '../../domain/token.ts';
import { securityOf } from '../auth.ts';
import { PROBLEM_TYPE, ProblemDto } from '../wire/problem.ts';

/** What a route answers when all goes well. */
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
    | 'Tasks'
    | 'Batches'
    | 'Workflows'
    | 'Work'
    | 'Jobs'
    | 'Findings'
    | 'Models'
    | 'Executors'
    | 'Pool'
    | 'Queues'
    | 'Webhooks'
    | 'Definitions'
    | 'Service';
  /** Null: open to everybody. */
  scope: TokenScope | null;
  answers: Readonly<Record<number, Answer>>;
  /** Statuses of problems beside those that every route may answer. */
  problems?: readonly number[];
}

const PROBLEM_DESCRIPTION: Readonly<Record<number, string>> = {
  400: 'The request is not valid; `details` names each field.',
  401: 'A valid bearer token is required.',
  403: 'The token or handle does not allow this.',
  404: 'There is no such thing.',
  409: 'Its state does not allow this.',
  413: 'The body is too large.',
  415: 'The body is not application/json.',
  422: 'The idempotency key was used with another body.',
  429: 'Too many requests wait already; try again after `Retry-After` seconds.',
  500: 'Heddle failed.',
  503: 'The database is away or the server stops; try again after `Retry-After` seconds.',
};

/** The part of a route's schema that documents it: summary, tag, security and every answer with its schema. */
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
