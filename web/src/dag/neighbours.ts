import type { Core } from 'cytoscape';
import type { TaskStore } from './task-store.ts';

/**
 * Returns the target of an arrow key: left to the nearest parent, right to the nearest child, up and down to the
 * nearest card above or below in its column. Null if there is none.
 */
export function relativeOf(cy: Core, store: TaskStore, id: string, [x, y]: [number, number]): string | null {
  const from = cy.getElementById(id).position();
  const candidates =
    x < 0
      ? (store.parents.get(id) ?? []).map((link) => link.parent_id)
      : x > 0
        ? (store.children.get(id) ?? []).map((link) => link.child_id)
        : cy
            .nodes()
            .filter((node) => Math.abs(node.position('x') - from.x) < 90 && (node.position('y') - from.y) * y > 0)
            .map((node) => node.id());
  let best: string | null = null;
  let least = Infinity;
  for (const candidate of candidates) {
    const node = cy.getElementById(candidate);
    if (node.empty()) continue;
    const distance = Math.abs(node.position('y') - from.y);
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}
