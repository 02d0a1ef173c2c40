import { CARD_WIDTH } from './geometry.ts';

export interface Curve {
  /** Where along the line between the ends each control point lies. */
  weights: number[];
  /** How far from that line it lies. */
  distances: number[];
}

interface Point {
  x: number;
  y: number;
}

/** An S from the right side of one card to the left side of another that leaves and arrives level. */
export function levelCurve(from: Point, to: Point): Curve {
  const a = { x: from.x + CARD_WIDTH / 2, y: from.y };
  const b = { x: to.x - CARD_WIDTH / 2, y: to.y };
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const length = Math.hypot(dx, dy) || 1;
  const reach = Math.max(28, Math.abs(dx) / 2.4);
  const points = [
    { x: a.x + reach, y: a.y },
    { x: b.x - reach, y: b.y },
  ];
  return {
    weights: points.map((p) => ((p.x - a.x) * dx + (p.y - a.y) * dy) / length ** 2),
    distances: points.map((p) => ((p.x - a.x) * -dy + (p.y - a.y) * dx) / length),
  };
}
