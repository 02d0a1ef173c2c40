/** Sizes of a task's card and the gaps between cards, in the graph's own units. */
export const CARD_WIDTH = 176;
export const CARD_HEIGHT = 40;
export const GAP_ACROSS = 16;
export const GAP_ALONG = 72;

/** A graph by index: `edges` holds parent, child, parent, child … */
export interface LayoutInput {
  count: number;
  edges: Int32Array;
}

export interface Point {
  x: number;
  y: number;
}

export interface LayoutOutput {
  engine: 'dagre' | 'layered';
  /** Centers of the cards, alternating x and y, by index. */
  positions: Float32Array;
  /** For edges that cross levels: the index of the edge and the crossing of each level. */
  lanes: { edge: number; points: Point[] }[];
}
