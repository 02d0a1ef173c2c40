import type { ObjectRef } from '../graph/object.ts';
import type { Commit } from '../result.ts';

/** An object of a source with its place in the run. */
export interface NumberedObject {
  /** Objects are numbered in the order of discovery; results are delivered in this order. */
  index: number;
  source: number;
  path: string;
  locator: string;
  size_hint: number;
  commit: Commit | undefined;
  /** How often a worker that failed had begun it. */
  losses: number;
}

/** An object that holds a permit and is not with a worker. */
export interface AdmittedObject {
  object: NumberedObject;
  reference: ObjectRef;
}
