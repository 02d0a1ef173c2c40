import type { NewContainerNode, NewNode } from '@heddle/base/vocabulary/workflow';
import { isObject, shown } from '@heddle/base/parse/faults';
import type { Faults } from '@heddle/base/parse/faults';
import { Members } from '@heddle/base/parse/members';
import { CONTAINER_MEMBERS, readContainer, readIds, readTask, TASK_MEMBERS } from './node.ts';
import { pathOf, placeOf, quoted } from '@heddle/base/parse/path';
import type { Place } from '@heddle/base/parse/path';
import { suggestName } from '@heddle/base/suggest';

/** Maximum depth of a tree, its root included. */
export const TREE_DEPTH_MAX = 1000;

/** Container whose children are being read. */
interface Frame {
  given: readonly unknown[];
  children: NewNode[];
  place: Place;
  next: number;
}

/**
 * Reads a node and its descendants in document order, so that generated ids increase in that order. Uses an explicit
 * stack, since submitters choose the depth of a tree.
 */
export class TreeReader {
  readonly #faults: Faults;
  readonly #newId: () => string;
  readonly #nodesMax: number;
  readonly #placeOfId = new Map<string, Place>();
  readonly #placeOfLocalId = new Map<string, Place>();
  readonly #open: Frame[] = [];
  #nodes = 0;

  constructor(faults: Faults, newId: () => string, nodesMax: number) {
    this.#faults = faults;
    this.#newId = newId;
    this.#nodesMax = nodesMax;
  }

  /** Returns the node, or null if it is not one; its content is only valid if there are no faults. */
  read(value: unknown, place: Place): NewNode | null {
    const outermost = this.#readNode(value, place);
    for (let frame = this.#open.at(-1); frame !== undefined; frame = this.#open.at(-1)) {
      if (frame.next >= frame.given.length || this.#faults.full || this.#nodes > this.#nodesMax) {
        this.#open.pop();
        continue;
      }
      const index = frame.next;
      frame.next += 1;
      const child = this.#readNode(frame.given[index], placeOf(frame.place, index));
      if (child !== null) frame.children.push(child);
    }
    return outermost;
  }

  #readNode(value: unknown, place: Place): NewNode | null {
    this.#nodes += 1;
    if (this.#nodes > this.#nodesMax) {
      this.#faults.add(place, `is beyond the ${this.#nodesMax} nodes that are allowed at once; submit fewer`);
      return null;
    }
    if (!isObject(value)) {
      this.#faults.add(place, `must be a task or a container, not ${shown(value)}`);
      return null;
    }
    const node = new Members(value, place, this.#faults);
    const isContainer = node.has('mode') || node.has('children');
    if (isContainer === node.has('kind')) {
      this.#faults.add(place, isContainer ? 'has both kind and mode; make it a task or a container' : neither(value));
      return null;
    }
    const given = readIds(node);
    if (given.id !== null) this.#claim(this.#placeOfId, given.id, node.at('id'));
    const localIdAt = node.at(given.id === null && node.has('id') ? 'id' : 'local_id');
    if (given.local_id !== null) this.#claim(this.#placeOfLocalId, given.local_id, localIdAt);
    const id = given.id ?? this.#newId();
    if (!isContainer) return readTask(node, id, given.local_id);
    const container = readContainer(node, id, given.local_id);
    return { ...container, children: this.#openChildren(node) } satisfies NewContainerNode;
  }

  #claim(taken: Map<string, Place>, id: string, place: Place): void {
    const first = taken.get(id);
    if (first === undefined) taken.set(id, place);
    else this.#faults.add(place, `repeats ${quoted(id)} of ${pathOf(first)}; give each node its own id`);
  }

  #openChildren(node: Members): NewNode[] {
    const children: NewNode[] = [];
    const given = node.raw('children');
    if (given === undefined || given === null) {
      node.fault('children', 'is required; [] for an empty container');
    } else if (!Array.isArray(given)) {
      node.fault('children', `must be an array of nodes, not ${shown(given)}`);
    } else if (given.length > 0 && this.#open.length + 1 >= TREE_DEPTH_MAX) {
      node.fault('children', `are nested deeper than ${TREE_DEPTH_MAX} levels; flatten the tree`);
    } else {
      this.#open.push({ given, children, place: node.at('children'), next: 0 });
    }
    return children;
  }
}

function neither(value: Record<string, unknown>): string {
  const must = 'must have kind, as a task, or mode and children, as a container';
  for (const name of Object.keys(value)) {
    const near = [...TASK_MEMBERS, ...CONTAINER_MEMBERS].some((known) => known === name)
      ? null
      : suggestName(name, ['kind', 'mode', 'children']);
    if (near !== null) return `${must}; did you mean "${near}" by ${quoted(name)}?`;
  }
  return must;
}
