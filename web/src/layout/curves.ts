import { CARD_HEIGHT, CARD_WIDTH } from './geometry.ts';
import type { Point } from './geometry.ts';

/**
 * A curve from the right side of one card to the left side of another that is level at both ends and at each crossing:
 * its start, then for each Bézier curve two control points and its end.
 */
export function levelCurve(from: Point, to: Point, lanes: readonly Point[] = []): Point[] {
  const start = { x: from.x + CARD_WIDTH / 2, y: from.y };
  const points = [start];
  let exit = start;
  for (const { x, y } of lanes) {
    const entry = { x: x - CARD_WIDTH / 2, y };
    points.push(...bend(exit, entry), entry);
    exit = { x: x + CARD_WIDTH / 2, y };
    points.push(entry, exit, exit);
  }
  const end = { x: to.x - CARD_WIDTH / 2, y: to.y };
  points.push(...bend(exit, end), end);
  return points;
}

/** The two control points of an S between two points that are level at both ends. */
function bend(from: Point, to: Point): Point[] {
  const reach = Math.max(28, Math.abs(to.x - from.x) / 2.4);
  return [
    { x: from.x + reach, y: from.y },
    { x: to.x - reach, y: to.y },
  ];
}

/** Control points in the form of cytoscape-dagre: relative to the line between the centers of the cards. */
interface RelativePoints {
  /** Position of each along the line, 0 to 1. */
  weights: number[];
  /** Distance of each from the line. */
  distances: number[];
}

const ROUNDS = 12;

/**
 * Recovers the points that cytoscape-dagre left as control points. It measures weights from where the edge leaves the
 * first card to where it meets the second, which in turn depend on the points: a few iterations converge.
 */
export function pointsOf({ weights, distances }: RelativePoints, from: Point, to: Point): Point[] {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const length = Math.hypot(dx, dy) || 1;
  const along = (share: number, distance: number): Point => ({
    x: from.x + dx * share - (dy / length) * distance,
    y: from.y + dy * share + (dx / length) * distance,
  });
  const shareOf = (p: Point): number => ((p.x - from.x) * dx + (p.y - from.y) * dy) / length ** 2;
  let first = 0;
  let last = 1;
  let points: Point[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    points = weights.map((weight, i) => along(first + weight * (last - first), distances[i]!));
    if (points.length === 0) return points;
    first = shareOf(borderTowards(from, points[0]!));
    last = shareOf(borderTowards(to, points.at(-1)!));
  }
  return points;
}

/** The point where the line from a card's center to a point crosses the card's border. */
function borderTowards(centre: Point, towards: Point): Point {
  const dx = towards.x - centre.x;
  const dy = towards.y - centre.y;
  const scale = Math.min(
    dx === 0 ? Infinity : CARD_WIDTH / 2 / Math.abs(dx),
    dy === 0 ? Infinity : CARD_HEIGHT / 2 / Math.abs(dy),
  );
  return Number.isFinite(scale) ? { x: centre.x + dx * scale, y: centre.y + dy * scale } : centre;
}
