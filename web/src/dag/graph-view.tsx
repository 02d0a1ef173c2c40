import { useEffect, useRef, useState } from 'react';
import { Button } from '../ui/button.tsx';
import { ProblemBox } from '../ui/problem.tsx';
import { ZoomButtons } from '../live/zoom-buttons.tsx';
import type { FoldedGraph } from './folded-graph.ts';
import { Graph } from './graph.ts';
import { relativeOf } from './neighbours.ts';
import type { TaskStore } from './task-store.ts';

const PAN_STEP = 80;
const ZOOM_STEP = 1.3;
/** Beyond this many cards a canvas is slow on most machines, so the user decides. */
const DRAW_MAX = 15_000;

interface GraphViewProps {
  store: TaskStore;
  folded: FoldedGraph;
  selected: string | null;
  onSelect: (id: string | null) => void;
  onGraph: (graph: Graph | null) => void;
}

/** The canvas, its buttons and its keys. */
export function GraphView({ store, folded, selected, onSelect, onGraph }: GraphViewProps) {
  const container = useRef<HTMLDivElement>(null);
  const graph = useRef<Graph | null>(null);
  const choose = useRef(onSelect);
  choose.current = onSelect;
  const [failure, setFailure] = useState<unknown>(null);
  const [nodes] = useState(() => folded.size);
  const [wanted, setWanted] = useState(nodes <= DRAW_MAX);
  useEffect(() => {
    if (!wanted) return;
    const drawn = new Graph(container.current!, store, folded, (id) => choose.current(id), setFailure);
    graph.current = drawn;
    onGraph(drawn);
    return () => {
      onGraph(null);
      graph.current = null;
      drawn.destroy();
    };
  }, [wanted, store, folded, onGraph]);

  if (!wanted) {
    return (
      <section className="graph notice" aria-label="Graph">
        <p>This graph has {nodes.toLocaleString()} nodes: too many to show well.</p>
        <p className="quiet">The task list works at any size. Drawing the graph takes a while.</p>
        <Button onClick={() => setWanted(true)}>Draw anyway</Button>
      </section>
    );
  }
  const onKeyDown = (event: React.KeyboardEvent): void => {
    if (graph.current === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (handleKey(event.key, graph.current, folded, selected, onSelect)) event.preventDefault();
  };
  return (
    <section className="graph" aria-label="Graph">
      <div
        ref={container}
        className="canvas"
        data-testid="canvas"
        tabIndex={0}
        role="application"
        aria-roledescription="graph"
        aria-label={
          'Graph of tasks. Arrow keys move the view, or the selection to a neighboring task. ' +
          'Enter draws the tasks of a group one by one, or as one again. ' +
          'Plus and minus zoom, F fits, Escape clears the selection. The task list has the same content.'
        }
        onKeyDown={onKeyDown}
      />
      {failure !== null && <ProblemBox error={failure} />}
      <ZoomButtons
        onIn={() => graph.current?.canvas.zoomBy(ZOOM_STEP)}
        onOut={() => graph.current?.canvas.zoomBy(1 / ZOOM_STEP)}
        onReset={() => graph.current?.canvas.fit()}
        reset="Fit"
        resetTitle="Show the whole graph (F)"
      />
    </section>
  );
}

const ARROWS: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Returns whether the key was handled. */
function handleKey(
  key: string,
  { canvas }: Graph,
  folded: FoldedGraph,
  selected: string | null,
  onSelect: (id: string | null) => void,
): boolean {
  const arrow = ARROWS[key];
  if (arrow !== undefined) {
    if (selected === null) canvas.panBy(-arrow[0] * PAN_STEP, -arrow[1] * PAN_STEP);
    else onSelect(relativeOf(canvas.scene, folded.nodeOf(selected), arrow) ?? selected);
    return true;
  }
  if (key === '+' || key === '=') canvas.zoomBy(ZOOM_STEP);
  else if (key === '-') canvas.zoomBy(1 / ZOOM_STEP);
  else if (key === 'f' || key === 'F' || key === '0') canvas.fit();
  else if (key === 'Escape') onSelect(null);
  else if (key === 'Enter') return toggleGroup(folded, selected);
  else return false;
  return true;
}

function toggleGroup(folded: FoldedGraph, selected: string | null): boolean {
  const group = selected === null ? undefined : (folded.group(selected) ?? folded.groupOf(selected));
  if (group === undefined) return false;
  folded.setUnfolded(group.id, !folded.isUnfolded(group.id));
  return true;
}
