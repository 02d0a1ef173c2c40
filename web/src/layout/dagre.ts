import cytoscape from 'cytoscape';
import dagre from 'cytoscape-dagre';
import type { DagreLayoutOptions } from 'cytoscape-dagre';
import { pointsOf } from './curves.ts';
import { CARD_HEIGHT, CARD_WIDTH, GAP_ACROSS, GAP_ALONG } from './geometry.ts';
import type { LayoutInput, LayoutOutput } from './geometry.ts';

cytoscape.use(dagre);

/** Lays a graph out with dagre on a headless Cytoscape, so that it runs in a worker as well as on a page. */
export function dagreLayout(input: LayoutInput): LayoutOutput {
  const cy = cytoscape({
    headless: true,
    styleEnabled: true,
    style: [{ selector: 'node', style: { shape: 'rectangle', width: CARD_WIDTH, height: CARD_HEIGHT } }],
    elements: elementsOf(input),
  });
  const options: DagreLayoutOptions = {
    name: 'dagre',
    rankDir: 'LR',
    nodeSep: GAP_ACROSS,
    edgeSep: GAP_ACROSS / 2,
    rankSep: GAP_ALONG,
    ranker: 'network-simplex',
    fit: false,
    animate: false,
    useDagreEdgeControlPoints: true,
  };
  cy.layout(options).run();
  const positions = new Float32Array(2 * input.count);
  cy.nodes().forEach((node, i) => {
    positions[2 * i] = node.position('x');
    positions[2 * i + 1] = node.position('y');
  });
  const lanes: LayoutOutput['lanes'] = [];
  cy.edges().forEach((edge, i) => {
    const weights = edge.scratch('controlPointWeights') as number[] | undefined;
    const distances = edge.scratch('controlPointDistances') as number[] | undefined;
    // A single point: the edge ends on the next level. Every second point is between two levels.
    if (weights === undefined || distances === undefined || weights.length < 3) return;
    const points = pointsOf({ weights, distances }, edge.source().position(), edge.target().position());
    lanes.push({ edge: i, points: points.filter((_, at) => at % 2 === 1) });
  });
  cy.destroy();
  return { engine: 'dagre', positions, lanes };
}

function elementsOf({ count, edges }: LayoutInput): cytoscape.ElementsDefinition {
  const nodes = Array.from({ length: count }, (_, i) => ({ data: { id: `n${i}` } }));
  const links = Array.from({ length: edges.length / 2 }, (_, i) => ({
    data: { id: `e${i}`, source: `n${edges[2 * i]!}`, target: `n${edges[2 * i + 1]!}` },
  }));
  return { nodes, edges: links };
}
