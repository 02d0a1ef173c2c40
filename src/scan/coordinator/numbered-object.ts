import type { ObjectRef } from '../graph/object.ts';
import type { Commit } from '../result.ts';

/** An object of a source with its place in the run. */
export interface NumberedObject {
  /** Objects of the run are numbered in the order in which they were found; results come out in this order. */
  index: number;
  source: number;
  path: string;
  locator: string;
  size_hint: number;
  commit: Commit | undefined;
  /** How often it was begun by a worker that came to an end. */
  losses: number;
}

/** One with a permit that is not with a worker. */
export interface AdmittedObject {
  object: NumberedObject;
  reference: ObjectRef;
}
