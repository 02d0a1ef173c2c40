import { adjacencyOf, componentsOf, levelsOf } from './levels.ts';
import type { Adjacency } from './levels.ts';
import { CARD_HEIGHT, CARD_WIDTH, GAP_ACROSS, GAP_ALONG } from './geometry.ts';
import type { LayoutInput } from './geometry.ts';

const CELL_HEIGHT = CARD_HEIGHT + GAP_ACROSS;
const CELL_WIDTH = CARD_WIDTH + GAP_ACROSS;
/** Target aspect ratio of a whole graph: that of a screen beside a panel. */
const ASPECT = 1.5;
const SWEEPS = 4;
/** Minimum number of levels in a band. */
const BAND_LEVELS_MIN = 24;
/** Column heights to try, as shares of the height derived from the count alone. */
const ROW_LIMITS = [0.8, 1, 1.3, 1.7, 2.2];
/** Levels up to this many stay in one column. */
const ROWS_MIN = 14;
/** Shelf widths to try, as shares of the width derived from the area alone. */
const SHELF_WIDTHS = [0.8, 1, 1.2, 1.5, 2];
const COMPONENT_GAP = 2 * CELL_HEIGHT;

/** A rectangle of cards with its origin at its upper left corner. */
interface Block {
  nodes: number[];
  x: Float32Array;
  y: Float32Array;
  width: number;
  height: number;
}

/**
 * Lays a graph out from left to right by longest-path levels, in linear time except for sorting: orders levels by
 * barycenters, wraps tall levels into several columns and long rows of levels into bands, and packs separate components
 * on shelves. Returns centers, alternating x and y.
 */
export function layeredLayout(input: LayoutInput): Float32Array {
  const children = adjacencyOf(input, 'children');
  const parents = adjacencyOf(input, 'parents');
  const levels = levelsOf(input, children);
  const blocks: Block[] = [];
  const loners: number[] = [];
  for (const component of componentsOf(input)) {
    if (component.length === 1) loners.push(component[0]!);
    else blocks.push(layComponent(component, levels, parents, children));
  }
  if (loners.length > 0) blocks.push(layGrid(loners, rowsFor(loners.length)));
  return pack(blocks, input.count);
}

function rowsFor(count: number): number {
  return Math.max(1, Math.ceil(Math.sqrt((count * CELL_WIDTH) / (ASPECT * CELL_HEIGHT))));
}

/** The share of a screen that a block takes, relative to the screen's width. */
function sizeOf(block: { width: number; height: number }): number {
  return Math.max(block.width, block.height * ASPECT);
}

function layComponent(component: number[], levels: Int32Array, parents: Adjacency, children: Adjacency): Block {
  const rows: number[][] = [];
  for (const node of component) (rows[levels[node]!] ??= []).push(node);
  orderByBarycentre(rows, parents, children);
  const tried = ROW_LIMITS.map((share) => {
    const rowLimit = Math.max(ROWS_MIN, Math.ceil(share * rowsFor(component.length)));
    return joinColumns(rows.map((row) => layGrid(row, rowLimit)));
  });
  return tried.reduce((a, b) => (sizeOf(b) < sizeOf(a) ? b : a));
}

/** Sorts each level by the mean position of its neighbors, sweeping down and up alternately. */
function orderByBarycentre(rows: number[][], parents: Adjacency, children: Adjacency): void {
  const place = new Map<number, number>();
  const settle = (row: number[]): void => row.forEach((node, i) => place.set(node, (i + 0.5) / row.length));
  rows.forEach(settle);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const downward = sweep % 2 === 0;
    const neighbours = downward ? parents : children;
    for (let i = 0; i < rows.length; i += 1) {
      const row = rows[downward ? i : rows.length - 1 - i]!;
      const weight = new Map(row.map((node) => [node, barycentre(node, neighbours, place)]));
      row.sort((a, b) => weight.get(a)! - weight.get(b)! || a - b);
      settle(row);
    }
  }
}

function barycentre(node: number, neighbours: Adjacency, place: Map<number, number>): number {
  const start = neighbours.starts[node]!;
  const end = neighbours.starts[node + 1]!;
  if (start === end) return place.get(node)!;
  let sum = 0;
  for (let i = start; i < end; i += 1) sum += place.get(neighbours.targets[i]!) ?? 0;
  return sum / (end - start);
}

/** Places nodes in a grid of at most `rowLimit` rows, row by row, so that the order still reads from top to bottom. */
function layGrid(nodes: number[], rowLimit: number): Block {
  const columns = Math.ceil(nodes.length / rowLimit);
  const rows = Math.ceil(nodes.length / columns);
  const x = new Float32Array(nodes.length);
  const y = new Float32Array(nodes.length);
  for (let i = 0; i < nodes.length; i += 1) {
    x[i] = (i % columns) * CELL_WIDTH + CARD_WIDTH / 2;
    y[i] = Math.floor(i / columns) * CELL_HEIGHT + CARD_HEIGHT / 2;
  }
  return { nodes, x, y, width: columns * CELL_WIDTH - GAP_ACROSS, height: rows * CELL_HEIGHT - GAP_ACROSS };
}

/** Places levels side by side; a row that far exceeds the aspect ratio continues in a band below, like text. */
function joinColumns(columns: Block[]): Block {
  const area = columns.reduce((sum, column) => sum + (column.width + GAP_ALONG) * (column.height + GAP_ACROSS), 0);
  const widthLimit = Math.max(Math.sqrt(area * ASPECT) * 1.5, BAND_LEVELS_MIN * (CELL_WIDTH + GAP_ALONG));
  const placed: { block: Block; left: number; top: number }[] = [];
  let band: Block[] = [];
  let top = 0;
  let left = 0;
  let width = 0;
  const closeBand = (): void => {
    const height = Math.max(...band.map((block) => block.height));
    let at = 0;
    for (const block of band) {
      placed.push({ block, left: at, top: top + (height - block.height) / 2 });
      at += block.width + GAP_ALONG;
    }
    width = Math.max(width, at - GAP_ALONG);
    top += height + 2 * CELL_HEIGHT;
    band = [];
    left = 0;
  };
  for (const column of columns) {
    if (band.length > 0 && left + column.width > widthLimit) closeBand();
    band.push(column);
    left += column.width + GAP_ALONG;
  }
  closeBand();
  return mergeBlocks(placed, width, top - 2 * CELL_HEIGHT);
}

function mergeBlocks(placed: { block: Block; left: number; top: number }[], width: number, height: number): Block {
  const nodes = placed.flatMap(({ block }) => block.nodes);
  const x = new Float32Array(nodes.length);
  const y = new Float32Array(nodes.length);
  let at = 0;
  for (const { block, left, top } of placed) {
    for (let i = 0; i < block.nodes.length; i += 1, at += 1) {
      x[at] = block.x[i]! + left;
      y[at] = block.y[i]! + top;
    }
  }
  return { nodes, x, y, width, height };
}

/** Packs blocks on shelves, tallest first, and picks the width that a screen shows largest. */
function pack(blocks: Block[], count: number): Float32Array {
  const positions = new Float32Array(2 * count);
  const area = blocks.reduce((sum, block) => sum + (block.width + COMPONENT_GAP) * (block.height + COMPONENT_GAP), 0);
  const widest = blocks.reduce((most, block) => Math.max(most, block.width), 0);
  const ordered = [...blocks].sort((a, b) => b.height - a.height);
  const widths = SHELF_WIDTHS.map((share) => Math.max(widest, share * Math.sqrt(area * ASPECT)));
  const tried = widths.map((width) => shelve(ordered, width));
  const best = tried.reduce((a, b) => (b.size < a.size ? b : a));
  ordered.forEach((block, i) => {
    const { left, top } = best.corners[i]!;
    block.nodes.forEach((node, at) => {
      positions[2 * node] = block.x[at]! + left;
      positions[2 * node + 1] = block.y[at]! + top;
    });
  });
  return positions;
}

/** Positions of blocks on shelves of a width, and the size of the whole relative to a screen's width. */
function shelve(blocks: Block[], widthLimit: number): { corners: { left: number; top: number }[]; size: number } {
  let left = 0;
  let top = 0;
  let shelf = 0;
  let width = 0;
  const corners = blocks.map((block) => {
    if (left > 0 && left + block.width > widthLimit) {
      top += shelf + COMPONENT_GAP;
      left = 0;
      shelf = 0;
    }
    const corner = { left, top };
    left += block.width + COMPONENT_GAP;
    shelf = Math.max(shelf, block.height);
    width = Math.max(width, left - COMPONENT_GAP);
    return corner;
  });
  return { corners, size: Math.max(width, (top + shelf) * ASPECT) };
}
