import type { ContainerId } from '@heddle/base/ids';
import type { Model, ModelContainer, NodeId } from './state.ts';
import { containerOf, nodesBelow, withAncestors } from './tree.ts';

export function emptyContainers(model: Model, root: ContainerId): ModelContainer[] {
  return [root, ...nodesBelow(model, containerOf(model, root))]
    .flatMap((id) => model.containers.get(id) ?? [])
    .filter((container) => container.children.length === 0);
}

/**
 * An empty container waits for every generator that runs beside it, that is, whose lowest common ancestor with it is
 * parallel. It does not wait for one that, by the order of the sequences and the waits of other empty containers, waits
 * for it: neither would ever end.
 */
export function fillBesideGenerators(model: Model, root: ContainerId): void {
  const generators = nodesBelow(model, containerOf(model, root)).filter((id) => {
    const place = model.tasks.get(id)?.place;
    return place?.generates === true && !place.disabled;
  });
  const beside = new Map<NodeId, NodeId[]>(
    emptyContainers(model, root).map((empty) => [
      empty.id,
      generators.filter((id) => lowestCommonAncestor(model, empty, id)?.mode === 'parallel'),
    ]),
  );
  for (const [id, candidates] of beside) {
    const empty = containerOf(model, id);
    const lawful = candidates.filter((generator) => !waitsFor(model, root, beside, generator, id));
    empty.open_generators = new Set([...empty.open_generators, ...lawful]);
  }
}

function lowestCommonAncestor(model: Model, container: ModelContainer, task: NodeId): ModelContainer | undefined {
  const around = new Set(withAncestors(model, model.tasks.get(task)!.place!.container_id));
  return withAncestors(model, container.id).find((ancestor) => around.has(ancestor));
}

/** Returns whether one node below `root` can end only after another one has. */
function waitsFor(
  model: Model,
  root: ContainerId,
  beside: ReadonlyMap<NodeId, readonly NodeId[]>,
  waiting: NodeId,
  target: NodeId,
): boolean {
  const seen = new Set<string>();
  const pending = [{ moment: 'end', id: waiting }];
  const after = (moment: string, ids: readonly NodeId[]): void =>
    void pending.push(...ids.map((id) => ({ moment, id })));
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { moment, id } = next;
    if (moment === 'end' && id === target) return true;
    if (seen.has(`${moment} ${id}`)) continue;
    seen.add(`${moment} ${id}`);
    if (moment === 'end') {
      after('start', [id]);
      after('end', [...(model.containers.get(id)?.children ?? []), ...(beside.get(id) ?? [])]);
    } else if (id !== root) {
      const parentId = model.tasks.get(id)?.place?.container_id ?? containerOf(model, id).parent_id!;
      const parent = containerOf(model, parentId);
      after('start', [parent.id]);
      const previous = parent.children[parent.children.indexOf(id) - 1];
      if (parent.mode === 'sequential' && previous !== undefined) after('end', [previous]);
    }
  }
  return false;
}
