import { useEffect, useRef, useState } from 'react';
import { Problem } from '../problem.tsx';
import { Graph } from './graph.ts';
import { relativeOf } from './neighbours.ts';
import type { TaskStore } from './task-store.ts';

const PAN_STEP = 80;
const ZOOM_STEP = 1.3;
/** Beyond this many tasks a canvas is slow on most machines, so the user decides. */
const DRAW_MAX = 15_000;

interface GraphViewProps {
  store: TaskStore;
  selected: string | null;
  onSelect: (id: string | null) => void;
  onGraph: (graph: Graph | null) => void;
}

/** The canvas, its buttons and its keys. */
export function GraphView({ store, selected, onSelect, onGraph }: GraphViewProps) {
  const container = useRef<HTMLDivElement>(null);
  const graph = useRef<Graph | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [wanted, setWanted] = useState(store.tasks.size <= DRAW_MAX);
  useEffect(() => {
    if (!wanted) return;
    const drawn = new Graph(container.current!, store, onSelect, setFailure);
    graph.current = drawn;
    onGraph(drawn);
    return () => {
      onGraph(null);
      graph.current = null;
      drawn.destroy();
    };
  }, [wanted, store, onSelect, onGraph]);

  if (!wanted) {
    return (
      <section className="graph notice">
        <p>This batch has {store.tasks.size.toLocaleString()} tasks: too many to show well.</p>
        <p className="quiet">The task list works at any size. Drawing the graph takes a while.</p>
        <button type="button" onClick={() => setWanted(true)}>
          Draw anyway
        </button>
      </section>
    );
  }
  const onKeyDown = (event: React.KeyboardEvent): void => {
    if (graph.current === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (handleKey(event.key, graph.current, store, selected, onSelect)) event.preventDefault();
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
          'Plus and minus zoom, F fits, Escape clears the selection. The task list has the same content.'
        }
        onKeyDown={onKeyDown}
      />
      {failure !== null && <Problem error={failure} />}
      <div className="zoom-buttons" role="group" aria-label="View">
        <button type="button" title="Zoom in (+)" aria-label="Zoom in" onClick={() => graph.current?.zoomBy(ZOOM_STEP)}>
          +
        </button>
        <button
          type="button"
          title="Zoom out (−)"
          aria-label="Zoom out"
          onClick={() => graph.current?.zoomBy(1 / ZOOM_STEP)}
        >
          −
        </button>
        <button type="button" title="Show the whole graph (F)" onClick={() => graph.current?.fit()}>
          Fit
        </button>
      </div>
    </section>
  );
}

const ARROWS: Record<string, [x: number, y: number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Returns whether the key was handled. */
function handleKey(
  key: string,
  graph: Graph,
  store: TaskStore,
  selected: string | null,
  onSelect: (id: string | null) => void,
): boolean {
  const arrow = ARROWS[key];
  if (arrow !== undefined) {
    if (selected === null) graph.panBy(-arrow[0] * PAN_STEP, -arrow[1] * PAN_STEP);
    else onSelect(relativeOf(graph.cy, store, selected, arrow) ?? selected);
    return true;
  }
  if (key === '+' || key === '=') graph.zoomBy(ZOOM_STEP);
  else if (key === '-') graph.zoomBy(1 / ZOOM_STEP);
  else if (key === 'f' || key === 'F' || key === '0') graph.fit();
  else if (key === 'Escape') onSelect(null);
  else return false;
  return true;
}
