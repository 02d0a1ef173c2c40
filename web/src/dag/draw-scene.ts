import { CARD_WIDTH } from '../layout/geometry.ts';
import type { CardPainter, Content } from './draw-cards.ts';
import type { Palette } from './palette.ts';
import type { Box, Scene, SceneEdge, SceneNode } from './scene.ts';

/** Below this zoom names are unreadable, and cards become blots of color. */
const FAR_ZOOM = 0.42;
/** Below this one glyphs are, too. */
const GLYPH_ZOOM = 0.14;
/** Links of one path: very long paths are slow to draw. */
const PATH_EDGES = 400;
const FADED = 0.13;

/** Where the scene is on the canvas: a point is drawn at `zoom` times its position, plus `x` and `y`. */
export interface Viewport {
  zoom: number;
  x: number;
  y: number;
}

export interface Marks {
  selected: string | null;
  /** Nodes that are faded. */
  dimmed: ReadonlySet<string>;
}

interface Frame {
  width: number;
  height: number;
  /** Pixels of the canvas for one of the page. */
  scale: number;
  viewport: Viewport;
}

/** Draws the part of a scene that is in the frame. */
export function drawScene(
  context: CanvasRenderingContext2D,
  painter: CardPainter,
  palette: Palette,
  scene: Scene,
  frame: Frame,
  marks: Marks,
  contentOf: (node: SceneNode) => Content,
): void {
  const { width, height, scale, viewport } = frame;
  const { zoom, x, y } = viewport;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width * scale, height * scale);
  context.setTransform(scale * zoom, 0, 0, scale * zoom, scale * x, scale * y);
  const visible: Box = { x1: -x / zoom, y1: -y / zoom, x2: (width - x) / zoom, y2: (height - y) / zoom };
  const isFar = zoom < FAR_ZOOM;
  const isFaded = (id: string): boolean => marks.dimmed.has(id);
  drawEdges(context, palette, scene, visible, isFar, marks);
  for (const node of scene.nodes) {
    if (!isWithin(node, visible)) continue;
    context.globalAlpha = isFaded(node.node.id) ? FADED : 1;
    if (isFar) painter.far(node, contentOf(node), zoom >= GLYPH_ZOOM && !isFaded(node.node.id));
    else painter.near(node, contentOf(node));
  }
  context.globalAlpha = 1;
  const selected = marks.selected === null ? undefined : scene.places.get(marks.selected);
  if (selected !== undefined) painter.outline(scene.nodes[selected]!, Math.max(4, 3 / zoom), 3);
}

function isWithin({ x, y, height }: SceneNode, { x1, y1, x2, y2 }: Box): boolean {
  return x + CARD_WIDTH > x1 && x - CARD_WIDTH < x2 && y + height > y1 && y - height < y2;
}

function drawEdges(
  context: CanvasRenderingContext2D,
  palette: Palette,
  scene: Scene,
  visible: Box,
  isFar: boolean,
  { selected, dimmed }: Marks,
): void {
  const near: SceneEdge[] = [];
  const drawn = { required: [] as SceneEdge[], optional: [] as SceneEdge[], faded: [] as SceneEdge[] };
  const chosen = selected === null ? undefined : scene.places.get(selected);
  for (const edge of scene.edges) {
    if (!crosses(edge, visible)) continue;
    if (edge.from === chosen || edge.to === chosen) near.push(edge);
    else if (dimmed.size > 0 && [edge.from, edge.to].some((end) => dimmed.has(scene.nodes[end]!.node.id))) {
      drawn.faded.push(edge);
    } else drawn[edge.required ? 'required' : 'optional'].push(edge);
  }
  context.lineWidth = isFar ? 1.2 : 1.6;
  context.strokeStyle = isFar ? palette.edgeFaint : palette.edge;
  strokeAll(context, drawn.required, []);
  strokeAll(context, drawn.optional, [6, 5]);
  if (!isFar) arrows(context, [...drawn.required, ...drawn.optional], palette.edge);
  context.globalAlpha = FADED;
  strokeAll(context, drawn.faded, []);
  context.globalAlpha = 1;
  context.lineWidth = isFar ? 5 : 2.6;
  context.strokeStyle = palette.edgeStrong;
  for (const edge of near) strokeAll(context, [edge], edge.required ? [] : [6, 5]);
  if (!isFar) arrows(context, near, palette.edgeStrong);
}

function crosses({ points }: SceneEdge, { x1, y1, x2, y2 }: Box): boolean {
  const [start, end] = [points[0]!, points.at(-1)!];
  // Curves bulge: they are cut off by the frame only if both of their ends are well beyond one side of it.
  const bulge = points.length > 2 ? 600 : 0;
  return (
    Math.max(start.x, end.x) + bulge > x1 &&
    Math.min(start.x, end.x) - bulge < x2 &&
    Math.max(start.y, end.y) + bulge > y1 &&
    Math.min(start.y, end.y) - bulge < y2
  );
}

function strokeAll(context: CanvasRenderingContext2D, edges: readonly SceneEdge[], dash: number[]): void {
  context.setLineDash(dash);
  for (let at = 0; at < edges.length; at += PATH_EDGES) {
    context.beginPath();
    for (const { points } of edges.slice(at, at + PATH_EDGES)) trace(context, points);
    context.stroke();
  }
  context.setLineDash([]);
}

function trace(context: CanvasRenderingContext2D, points: SceneEdge['points']): void {
  context.moveTo(points[0]!.x, points[0]!.y);
  if (points.length === 2) context.lineTo(points[1]!.x, points[1]!.y);
  for (let i = 1; i + 2 < points.length; i += 3) {
    const [a, b, end] = [points[i]!, points[i + 1]!, points[i + 2]!];
    context.bezierCurveTo(a.x, a.y, b.x, b.y, end.x, end.y);
  }
}

/** The heads of arrows: links end level, at the left side of a card. */
function arrows(context: CanvasRenderingContext2D, edges: readonly SceneEdge[], colour: string): void {
  context.fillStyle = colour;
  context.beginPath();
  for (const { points } of edges) {
    const { x, y } = points.at(-1)!;
    context.moveTo(x, y);
    context.lineTo(x - 9, y - 4.5);
    context.lineTo(x - 9, y + 4.5);
    context.closePath();
  }
  context.fill();
}
