import type { FastifyRequest } from 'fastify';

import { documented, type RouteDescription } from './document.ts';
import { NoQuery, TaskParameters } from './parameters.ts';

/** A worker's call about a task. */
export type WorkRequest = Pick<FastifyRequest, 'ip' | 'heddle'> & { params: { task_id: string } };

export const onTask = {
  config: { scope: 'work', runner: true },
  params: TaskParameters,
  querystring: NoQuery,
} as const;
export const BODY_PROBLEMS = [404, 409, 413, 415, 429];

export function describeWork(route: Omit<RouteDescription, 'tag' | 'scope'>) {
  return documented({ ...route, tag: 'Work', scope: 'work' });
}
