import { CARD_WIDTH } from '../layout/geometry.ts';
import type { Scene, SceneNode } from './scene.ts';

/**
 * Returns the target of an arrow key: left to the nearest parent, right to the nearest child, up and down to the
 * nearest card above or below in its column. Null if there is none.
 */
export function relativeOf(scene: Scene, id: string, [x, y]: readonly [number, number]): string | null {
  const place = scene.places.get(id);
  if (place === undefined) return null;
  const from = scene.nodes[place]!;
  const column = scene.nodes.filter((node) => Math.abs(node.x - from.x) < CARD_WIDTH / 2 && (node.y - from.y) * y > 0);
  const beside = scene.edges.flatMap((edge) => {
    if (x < 0 && edge.to === place) return [scene.nodes[edge.from]!];
    return x > 0 && edge.from === place ? [scene.nodes[edge.to]!] : [];
  });
  const distance = (node: SceneNode): number => Math.abs(node.y - from.y);
  const [best] = (x === 0 ? column : beside).sort((a, b) => distance(a) - distance(b));
  return best?.node.id ?? null;
}
