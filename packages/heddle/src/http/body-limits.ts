import type { FastifyInstance } from 'fastify';

import type { ScanLimits } from '@heddle/base/json/scan';
import { MAX_TASKS } from './wire/new-task.ts';

/** Limits of a request body; beyond them nothing is read or built. */
export interface BodyLimits extends ScanLimits {
  /** By default the limit of the server. */
  bytes?: number;
}

const KIB = 1024;

/** For a route without its own limits: one object with its metadata. */
const ONE_THING: BodyLimits = { bytes: 512 * KIB, values: 100_000, names: 20_000 };

/** For a result, which may be any JSON. */
export const ONE_RESULT: BodyLimits = { bytes: 16 * KIB * KIB, values: 1_000_000, names: 50_000 };

/** For a tree or any other collection of thousands of objects. */
export const MANY_NODES: BodyLimits = { values: 2_000_000, names: 100_000 };

export const MANY_TASKS: BodyLimits = { ...MANY_NODES, outermost: MAX_TASKS };

/** Sets the body limit of each route that is added later. */
export function limitBodies(app: FastifyInstance, bytesMax: number): void {
  app.addHook('onRoute', (route) => {
    route.bodyLimit = Math.min(bytesMax, limitsOf(route.config?.body).bytes ?? bytesMax);
  });
}

export function limitsOf(given: BodyLimits | undefined): BodyLimits {
  return given ?? ONE_THING;
}
