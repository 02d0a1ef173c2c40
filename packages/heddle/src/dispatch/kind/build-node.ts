import { Faults } from '@heddle/base/parse/faults';
import { Members } from '@heddle/base/parse/members';
import { readContainer, readIds, readTask } from '@heddle/core/domain/parse/node';
import { placeOf, type Place } from '@heddle/base/parse/path';
import { TREE_DEPTH_MAX } from '@heddle/core/domain/parse/tree';
import { CREATION_NODES_MAX } from '@heddle/core/domain/parse/workflow';
import type { NewContainerNode, NewNode } from '@heddle/base/vocabulary/workflow';
import { toJson } from './json-value.ts';
import type { ContainerNode, Node, TaskNode } from '@heddle/kit';
import { isContainerNode, isTaskNode } from '@heddle/kit/nodes';

const INPUT_BYTES_MAX = 64 * 1024;

/** A node ready to be stored, and the number of nodes in it. */
export interface BuiltNode {
  node: NewNode;
  nodes: number;
}

/** Derives the id of a node from its key or from its position under its generator. */
export type NameNode = (spec: Node, makerId: string, ordinal: number) => string;

interface Building {
  readonly nameNode: NameNode;
  readonly faults: Faults;
  nodes: number;
}

/**
 * Converts a node created by a generator for storage, with the same validation as a submitted node.
 * @throws TypeError that names every fault
 */
export function buildNode(spec: Node, id: string, nameNode: NameNode): BuiltNode {
  const building = { nameNode, faults: new Faults(), nodes: 0 };
  const node = build(building, spec, id, placeOf(null, 'node'), 1);
  const { list } = building.faults;
  if (list.length > 0) throw new TypeError(list.join('; '));
  return { node, nodes: building.nodes };
}

function build(building: Building, spec: Node, id: string, place: Place, depth: number): NewNode {
  building.nodes += 1;
  if (building.nodes > CREATION_NODES_MAX) {
    throw new TypeError(`a node may contain at most ${CREATION_NODES_MAX} nodes; create them one by one`);
  }
  if (depth > TREE_DEPTH_MAX) throw new TypeError(`nodes may be nested at most ${TREE_DEPTH_MAX} levels deep`);
  if (isTaskNode(spec)) return buildTask(building, spec, id, place);
  if (isContainerNode(spec)) return buildContainer(building, spec, id, place, depth);
  throw new TypeError('a node must be created by task(), sequential() or parallel()');
}

function buildTask({ faults }: Building, spec: TaskNode, id: string, place: Place): NewNode {
  const { key, local_id, delay_secs, ...options } = spec.options;
  const input = toJson(spec.input, `the input of a ${spec.kind}`, INPUT_BYTES_MAX);
  const name = options.name ?? local_id ?? key ?? spec.kind;
  const node = new Members({ ...options, kind: spec.kind, name, input, local_id, delay: delay_secs }, place, faults);
  return readTask(node, id, readIds(node).local_id);
}

function buildContainer(
  building: Building,
  spec: ContainerNode,
  id: string,
  place: Place,
  depth: number,
): NewContainerNode {
  const { key: _, ...options } = spec.options;
  const node = new Members({ ...options, mode: spec.mode }, place, building.faults);
  const container = readContainer(node, id, readIds(node).local_id);
  const children = spec.children.map((child, ordinal) => {
    const childPlace = placeOf(placeOf(place, 'children'), ordinal);
    return build(building, child, building.nameNode(child, id, ordinal), childPlace, depth + 1);
  });
  return { ...container, children };
}
