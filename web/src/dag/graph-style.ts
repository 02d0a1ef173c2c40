import type { Css, NodeSingular, StylesheetJson } from 'cytoscape';
import { STATUSES, STATUS_ICON } from '../status.ts';
import type { Status } from '../status.ts';
import { CARD_HEIGHT, CARD_WIDTH } from '../layout/geometry.ts';
import type { Palette } from './palette.ts';

/** Share of a card's width that its colored stripe takes. */
const STRIPE_WIDTH = 30;
const STRIPE_PERCENT = (100 * STRIPE_WIDTH) / CARD_WIDTH;
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Open Sans", sans-serif';
/** The font of a card's label, in canvas syntax. */
export const CARD_FONT = `500 13px ${FONT}`;
const DARK_TEXT = '#10161d';

/** A cue beside the color: outline and shape, so that no state relies on hue alone. */
const CUE: Record<Status, Css.Node> = {
  Waiting: { shape: 'round-rectangle', 'border-style': 'dashed', 'border-width': 1.5 },
  Pending: { shape: 'round-rectangle', 'border-style': 'solid', 'border-width': 1.5 },
  Claimed: { shape: 'round-rectangle', 'border-style': 'double', 'border-width': 4 },
  Running: { shape: 'round-rectangle', 'border-style': 'solid', 'border-width': 3 },
  Paused: { shape: 'barrel', 'border-style': 'dotted', 'border-width': 2.5 },
  Success: { shape: 'round-rectangle', 'border-style': 'solid', 'border-width': 1.5 },
  Failure: { shape: 'cut-rectangle', 'border-style': 'solid', 'border-width': 3 },
  Canceled: { shape: 'rectangle', 'border-style': 'dashed', 'border-width': 1.5 },
};

/** The same for plain boxes, with as few properties as possible. */
function plainCue(palette: Palette): Record<Status, Css.Node> {
  return {
    Waiting: { 'border-width': 2, 'border-style': 'dashed', 'border-color': palette.text },
    Pending: { color: DARK_TEXT },
    Claimed: { 'border-width': 5, 'border-style': 'double', 'border-color': palette.text },
    Running: { 'border-width': 4, 'border-color': palette.text },
    Paused: { shape: 'barrel', color: DARK_TEXT },
    Success: {},
    Failure: { shape: 'cut-rectangle' },
    Canceled: { shape: 'rhomboid' },
  };
}

const DARK_ON: ReadonlySet<Status> = new Set<Status>(['Pending', 'Paused']);

/** The style of a graph: cards with icons and curves or, for a large graph, plain boxes and lines. */
export function graphStyle(palette: Palette, large: boolean): StylesheetJson {
  return [
    ...(large ? plainStyle(palette) : cardStyle(palette)),
    { selector: 'edge[!required]', style: { 'line-style': 'dashed' } },
    { selector: 'edge.near', style: nearEdge(palette, large) },
    {
      selector: 'node:selected',
      style: { 'outline-width': 4, 'outline-color': palette.accent, 'outline-offset': 3, 'outline-opacity': 1 },
    },
  ];
}

/**
 * A large graph has no gradients, icons, curves and arrows, which cost time on every frame, and as few rules as
 * possible: Cytoscape walks an element's edges for each property that it applies, so every line here costs time.
 */
function plainStyle(palette: Palette): StylesheetJson {
  const cue = plainCue(palette);
  return [
    {
      selector: 'node',
      style: {
        shape: 'rectangle',
        width: CARD_WIDTH,
        height: CARD_HEIGHT,
        label: 'data(label)',
        color: '#ffffff',
        'text-valign': 'center',
        'min-zoomed-font-size': 6,
      },
    },
    ...STATUSES.map((status) => ({
      selector: `node[status = "${status}"]`,
      style: { 'background-color': palette.status[status], ...cue[status] },
    })),
    // Opaque, otherwise the links beneath would show through thousands of faded boxes.
    ...STATUSES.map((status) => ({
      selector: `node.dim[status = "${status}"]`,
      style: { 'background-color': palette.tint[status], 'border-color': palette.edgeFaint, color: palette.edge },
    })),
    { selector: 'edge', style: { 'line-color': palette.edgeFaint } },
  ];
}

function cardStyle(palette: Palette): StylesheetJson {
  return [
    { selector: 'node', style: baseNode(palette) },
    ...STATUSES.map((status) => ({ selector: `node[status = "${status}"]`, style: cardNode(palette, status) })),
    ...farNodes(palette),
    { selector: 'edge', style: curvedEdge(palette) },
    { selector: '.dim', style: { opacity: 0.13 } },
  ];
}

function baseNode(palette: Palette): Css.Node {
  return {
    width: CARD_WIDTH,
    height: CARD_HEIGHT,
    label: 'data(label)',
    color: palette.text,
    'font-family': FONT,
    'font-size': 13,
    'font-weight': 500,
    'min-zoomed-font-size': 6,
    'text-valign': 'center',
    'text-halign': 'right',
    'text-margin-x': -(CARD_WIDTH - STRIPE_WIDTH - 9),
    'corner-radius': '8',
    'overlay-opacity': 0,
  };
}

function cardNode(palette: Palette, status: Status): Css.Node {
  const stripe = palette.status[status];
  const tint = palette.tint[status];
  const progress = (node: NodeSingular): number => {
    const share = (node.data('progress') as number | null) ?? 0;
    return STRIPE_PERCENT + (100 - STRIPE_PERCENT) * share;
  };
  return {
    ...CUE[status],
    'border-color': stripe,
    'background-fill': 'linear-gradient',
    'background-gradient-direction': 'to-right',
    'background-gradient-stop-colors': [stripe, stripe, palette.done[status], palette.done[status], tint, tint],
    // Cytoscape's types allow only fixed lists; functions of the node are documented and work.
    'background-gradient-stop-positions': (node: NodeSingular) => {
      const end = progress(node);
      return [0, STRIPE_PERCENT, STRIPE_PERCENT, end, end, 100];
    },
    'background-image': STATUS_ICON[status],
    'background-width': 16,
    'background-height': 16,
    'background-position-x': (STRIPE_WIDTH - 16) / 2,
    'background-position-y': '50%',
    'background-image-opacity': 1,
  };
}

/** When zoomed out only the color is visible: it fills the whole card. */
function farNodes(palette: Palette): StylesheetJson {
  return STATUSES.map((status) => ({
    selector: `node.far[status = "${status}"]`,
    style: {
      ...solidText(status),
      'background-fill': 'solid',
      'background-color': palette.status[status],
      'background-image-opacity': 0,
    },
  }));
}

function solidText(status: Status): Css.Node {
  return { color: DARK_ON.has(status) ? DARK_TEXT : '#ffffff', 'text-margin-x': -(CARD_WIDTH - 10) };
}

function curvedEdge(palette: Palette): Css.Edge {
  return {
    'curve-style': 'unbundled-bezier',
    // Documented since 3.31, but missing in the types.
    'edge-distances': 'endpoints' as 'intersection',
    'control-point-weights': ((edge: NodeSingular) => edge.data('weights') as number[]) as unknown as number[],
    'control-point-distances': ((edge: NodeSingular) => edge.data('distances') as number[]) as unknown as number[],
    'source-endpoint': '50% 0%',
    'target-endpoint': '-50% 0%',
    width: 1.6,
    'line-color': palette.edge,
    'target-arrow-shape': 'triangle',
    'target-arrow-color': palette.edge,
    'arrow-scale': 0.85,
    'overlay-opacity': 0,
    events: 'no',
  };
}

function nearEdge(palette: Palette, large: boolean): Css.Edge {
  return {
    width: large ? 5 : 2.6,
    'line-color': palette.edgeStrong,
    'target-arrow-color': palette.edgeStrong,
  };
}
