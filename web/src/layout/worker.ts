import { layeredLayout } from './layered.ts';
import { adjacencyOf, extentOf, levelsOf } from './levels.ts';
import type { LayoutInput, LayoutOutput } from './geometry.ts';

/** Beyond these limits dagre takes seconds, or draws ribbons that no screen can show. */
const DAGRE_NODES_MAX = 400;
const DAGRE_EDGES_MAX = 800;
const DAGRE_LEVEL_MAX = 40;
const DAGRE_DEPTH_MAX = 40;

/** Large, and loaded while the page reads its data. */
const dagre = import('./dagre.ts').then(({ dagreLayout }) => dagreLayout);

function suitsDagre(input: LayoutInput): boolean {
  if (input.count > DAGRE_NODES_MAX || input.edges.length / 2 > DAGRE_EDGES_MAX) return false;
  const { widest, depth } = extentOf(levelsOf(input, adjacencyOf(input, 'children')));
  return widest <= DAGRE_LEVEL_MAX && depth <= DAGRE_DEPTH_MAX;
}

async function layOut(input: LayoutInput): Promise<LayoutOutput> {
  if (suitsDagre(input)) return (await dagre)(input);
  return { engine: 'layered', positions: layeredLayout(input), lanes: [] };
}

async function answer({ ticket, input }: { ticket: number; input: LayoutInput }): Promise<void> {
  try {
    const output = await layOut(input);
    postMessage({ ticket, output }, { transfer: [output.positions.buffer] });
  } catch (error) {
    postMessage({ ticket, error: String(error) });
  }
}

addEventListener('message', (event: MessageEvent<{ ticket: number; input: LayoutInput }>) => void answer(event.data));
