import type { WorkflowNotification } from '../notification/notification.ts';
import type { NewContainerNode, NewNode } from '@heddle/base/vocabulary/workflow';
import { Faults, isObject, shown } from '@heddle/base/parse/faults';
import { Members } from '@heddle/base/parse/members';
import { NAME_CHARS_MAX } from './node.ts';
import { readWorkflowNotifications } from './notification.ts';
import { placeOf } from '@heddle/base/parse/path';
import type { Place } from '@heddle/base/parse/path';
import { TreeReader } from './tree.ts';

/** Maximum nodes per submission. */
export const SUBMISSION_NODES_MAX = 100_000;
/** Maximum nodes per CreateTask message. */
export const CREATION_NODES_MAX = 1000;

export interface ParsedWorkflow {
  name: string | null;
  root: NewContainerNode;
  /** Recipients of its end notification. */
  notify: readonly WorkflowNotification[];
}

export type WorkflowParse = ({ ok: true } & ParsedWorkflow) | { ok: false; faults: string[] };
export type NodeParse = { ok: true; node: NewNode } | { ok: false; faults: string[] };

/**
 * Parses `{ name?, root, notify? }`.
 *
 * @param newId creates an id for each node without one, in document order
 * @returns the workflow, or every fault (at most 100) as `root.children[2].mode: must be …`
 */
export function parseWorkflow(value: unknown, newId: () => string): WorkflowParse {
  const faults = new Faults();
  const workflow = readWorkflow(value, null, faults, newId);
  return workflow === null ? { ok: false, faults: faults.list } : { ok: true, ...workflow };
}

/**
 * Parses one node with its descendants, as a generator creates it.
 *
 * @param path start of the faults' paths
 */
export function parseNode(value: unknown, newId: () => string, path = 'task'): NodeParse {
  const faults = new Faults();
  const node = readCreatedNode(value, placeOf(null, path), faults, newId);
  return node === null ? { ok: false, faults: faults.list } : { ok: true, node };
}

/** Returns the workflow, or null if it is invalid. `place` is null if it is the whole document. */
export function readWorkflow(
  value: unknown,
  place: Place | null,
  faults: Faults,
  newId: () => string,
): ParsedWorkflow | null {
  const before = faults.list.length;
  if (!isObject(value)) {
    faults.add(place ?? placeOf(null, 'body'), `must be an object with name and root, not ${shown(value)}`);
    return null;
  }
  const rootAt = placeOf(place, 'root');
  const members = place === null ? new TopLevel(value, faults) : new Members(value, place, faults);
  members.refuseOthers(['name', 'root', 'notify']);
  members.requireAll('root');
  const name = members.text('name', NAME_CHARS_MAX);
  const notify = readWorkflowNotifications(members);
  if (!members.has('root')) return null;
  const root = new TreeReader(faults, newId, SUBMISSION_NODES_MAX).read(members.raw('root'), rootAt);
  if (root?.type === 'task') {
    faults.add(rootAt, 'must be a container, not a task; wrap it in { "mode": "sequential", "children": [...] }');
  }
  return root?.type !== 'container' || faults.list.length > before ? null : { name, root, notify };
}

export function readCreatedNode(value: unknown, place: Place, faults: Faults, newId: () => string): NewNode | null {
  const before = faults.list.length;
  const node = new TreeReader(faults, newId, CREATION_NODES_MAX).read(value, place);
  return faults.list.length > before ? null : node;
}

/** Reads the members of a whole document: their paths start with their own names. */
export class TopLevel extends Members {
  constructor(object: Record<string, unknown>, faults: Faults) {
    super(object, placeOf(null, ''), faults);
  }

  override at(name: string): Place {
    return placeOf(null, name);
  }
}
