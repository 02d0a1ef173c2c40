import type { FastifyInstance } from 'fastify';

import type { ScanLimits } from '../runtime/json/scan.ts';
import { MAX_TASKS } from './wire/new-task.ts';

/** What the body of a request may be; beyond it nothing is read, or nothing is built from it. */
export interface BodyLimits extends ScanLimits {
  /** Absent: as many as the server takes at all. */
  bytes?: number;
}

const KIB = 1024;

/** Of a route that says nothing: one thing, with its metadata. */
const ONE_THING: BodyLimits = { bytes: 512 * KIB, values: 100_000, names: 20_000 };

/** Of a result, which may be any JSON. */
export const ONE_RESULT: BodyLimits = { bytes: 16 * KIB * KIB, values: 1_000_000, names: 50_000 };

/** Of a tree, or of whatever else comes by the thousands. */
export const MANY_NODES: BodyLimits = { values: 2_000_000, names: 100_000 };

export const MANY_TASKS: BodyLimits = { ...MANY_NODES, outermost: MAX_TASKS };

/** Gives each route that is added later the number of bytes that it reads. */
export function limitBodies(app: FastifyInstance, bytesMax: number): void {
  app.addHook('onRoute', (route) => {
    route.bodyLimit = Math.min(bytesMax, limitsOf(route.config?.body).bytes ?? bytesMax);
  });
}

export function limitsOf(given: BodyLimits | undefined): BodyLimits {
  return given ?? ONE_THING;
}
