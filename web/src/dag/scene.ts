import { computeLayout } from '../layout/client.ts';
import { levelCurve } from '../layout/curves.ts';
import { CARD_HEIGHT, CARD_WIDTH } from '../layout/geometry.ts';
import type { LayoutOutput, Point } from '../layout/geometry.ts';
import type { FoldedGraph, GraphNode, GraphStructure } from './folded-graph.ts';

/** A group's card has a line of counts and a bar; the gap between cards has room for it. */
const GROUP_HEIGHT = CARD_HEIGHT + 10;
/** More links than this are drawn as straight lines. */
const CURVES_MAX = 3000;

export interface SceneNode {
  readonly node: GraphNode;
  /** The center of its card. */
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

export interface SceneEdge {
  readonly from: number;
  readonly to: number;
  readonly required: boolean;
  /** Start, then for each Bézier curve two control points and its end. */
  readonly points: readonly Point[];
}

export interface Box {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

/** What the canvas draws: nodes and links with their positions. What the nodes show is read when they are drawn. */
export interface Scene {
  readonly nodes: readonly SceneNode[];
  readonly edges: readonly SceneEdge[];
  readonly places: ReadonlyMap<string, number>;
  readonly extent: Box;
  readonly engine: LayoutOutput['engine'] | null;
}

export const EMPTY_SCENE: Scene = {
  nodes: [],
  edges: [],
  places: new Map(),
  extent: { x1: 0, y1: 0, x2: 1, y2: 1 },
  engine: null,
};

/** Lays the graph out, in a worker. */
export async function layScene(graph: FoldedGraph): Promise<Scene> {
  const structure = graph.structure();
  // The worker takes the edges over.
  const output = await computeLayout({ count: structure.nodes.length, edges: structure.edges.slice() });
  return sceneOf(structure, output);
}

function sceneOf({ nodes, places, edges, required }: GraphStructure, output: LayoutOutput): Scene {
  const drawn = nodes.map((node, i): SceneNode => ({
    node,
    x: output.positions[2 * i]!,
    y: output.positions[2 * i + 1]!,
    height: node.type === 'group' ? GROUP_HEIGHT : CARD_HEIGHT,
  }));
  const lanes = new Map(output.lanes.map((lane) => [lane.edge, lane.points]));
  const straight = required.length > CURVES_MAX;
  const lines = required.map((isRequired, i): SceneEdge => {
    const [from, to] = [edges[2 * i]!, edges[2 * i + 1]!];
    const [start, end] = [drawn[from]!, drawn[to]!];
    const points = straight ? lineOf(start, end) : levelCurve(start, end, lanes.get(i));
    return { from, to, required: isRequired, points };
  });
  return { nodes: drawn, edges: lines, places, extent: extentOf(drawn), engine: output.engine };
}

function lineOf(from: Point, to: Point): Point[] {
  return [
    { x: from.x + CARD_WIDTH / 2, y: from.y },
    { x: to.x - CARD_WIDTH / 2, y: to.y },
  ];
}

/** The rectangle around all cards. */
function extentOf(nodes: readonly SceneNode[]): Box {
  const box = { x1: Infinity, y1: Infinity, x2: -Infinity, y2: -Infinity };
  for (const { x, y, height } of nodes) {
    box.x1 = Math.min(box.x1, x - CARD_WIDTH / 2);
    box.x2 = Math.max(box.x2, x + CARD_WIDTH / 2);
    box.y1 = Math.min(box.y1, y - height / 2);
    box.y2 = Math.max(box.y2, y + height / 2);
  }
  return nodes.length === 0 ? EMPTY_SCENE.extent : box;
}
