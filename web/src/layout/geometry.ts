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
  /** Centres of the cards, x and y in turn, by index. */
  positions: Float32Array;
  /** For edges that pass levels on their way: the index of the edge and where it crosses each of them. */
  lanes: { edge: number; points: Point[] }[];
}
