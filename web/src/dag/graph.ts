import { CARD_WIDTH } from '../layout/geometry.ts';
import type { LayoutOutput } from '../layout/geometry.ts';
import type { Content } from './draw-cards.ts';
import type { FoldedGraph } from './folded-graph.ts';
import { GraphCanvas } from './graph-canvas.ts';
import { layScene } from './scene.ts';
import type { SceneNode } from './scene.ts';
import { progressOf } from './task-store.ts';
import type { TaskStore, TaskView } from './task-store.ts';

/** A node as tests see it. */
interface NodeReport {
  id: string;
  /** Center of its card on the canvas. */
  x: number;
  y: number;
  width: number;
  /** Position in the layout. */
  place: { x: number; y: number };
  dimmed: boolean;
}

/** Hook for tests and debugging: what is drawn, and when that happened (milliseconds since navigation). */
export interface TestHook {
  ready: boolean;
  drawnAtMs: number | null;
  layout: LayoutOutput['engine'] | null;
  canvas(): HTMLCanvasElement;
  view(): { zoom: number; x: number; y: number };
  nodes(): NodeReport[];
}

declare global {
  interface Window {
    __heddle?: TestHook;
  }
}

/** Draws a store's tasks on a canvas and follows it: lays out new structure, and repaints on changes of state. */
export class Graph {
  readonly canvas: GraphCanvas;
  private readonly store: TaskStore;
  private readonly folded: FoldedGraph;
  private readonly hook: TestHook;
  private readonly undo: (() => void)[];
  private generation = 0;
  private selected: string | null = null;
  private keep: ((task: TaskView) => boolean) | null = null;

  constructor(
    container: HTMLElement,
    store: TaskStore,
    folded: FoldedGraph,
    onSelect: (id: string | null) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.store = store;
    this.folded = folded;
    this.canvas = new GraphCanvas(
      container,
      (node) => this.contentOf(node),
      (node) => onSelect(node?.node.id ?? null),
    );
    this.hook = this.hookOf();
    window.__heddle = this.hook;
    const rebuild = (): void => void this.rebuild().catch(onFailure);
    this.undo = [
      folded.subscribe(rebuild),
      store.subscribe(({ structure }) => {
        if (structure) rebuild();
        else this.canvas.repaint();
      }),
    ];
    if (store.loaded) rebuild();
  }

  destroy(): void {
    this.generation += 1;
    for (const step of this.undo) step();
    this.canvas.destroy();
    if (window.__heddle === this.hook) delete window.__heddle;
  }

  /** Marks the node that shows a task or a group. */
  select(id: string | null): void {
    this.selected = id;
    this.canvas.select(id === null ? null : this.folded.nodeOf(id));
  }

  /** Fades every node that shows no task for which `keep` is true; null shows all. */
  highlight(keep: ((task: TaskView) => boolean) | null): void {
    this.keep = keep;
    const dimmed = new Set<string>();
    const { nodes } = this.canvas.scene;
    for (const { node } of keep === null ? [] : nodes) {
      const members = node.type === 'group' ? node.group.members : [node.id];
      if (!members.some((id) => keep!(this.store.tasks.get(id)!))) dimmed.add(node.id);
    }
    this.canvas.fade(dimmed);
  }

  private contentOf({ node }: SceneNode): Content {
    if (node.type === 'group') {
      const { name, members } = node.group;
      return { type: 'group', name, count: members.length, tally: this.folded.tally(node.id) };
    }
    // A task that has gone is drawn until the new layout arrives.
    const task = this.store.tasks.get(node.id) ?? node.task;
    return { type: 'task', name: task.name, state: task.state, progress: progressOf(task) };
  }

  private async rebuild(): Promise<void> {
    this.generation += 1;
    const generation = this.generation;
    this.hook.ready = false;
    const scene = await layScene(this.folded);
    if (generation !== this.generation) return;
    this.hook.layout = scene.engine;
    this.canvas.show(scene, () => {
      this.hook.ready = true;
      this.hook.drawnAtMs = performance.now();
    });
    this.highlight(this.keep);
    this.select(this.selected);
  }

  private hookOf(): TestHook {
    const { canvas } = this;
    return {
      ready: false,
      drawnAtMs: null,
      layout: null,
      canvas: () => canvas.canvas,
      view: () => canvas.viewport,
      nodes: () =>
        canvas.scene.nodes.map((node) => ({
          id: node.node.id,
          ...canvas.placeOf(node),
          width: CARD_WIDTH * canvas.viewport.zoom,
          place: { x: node.x, y: node.y },
          dimmed: canvas.isDimmed(node.node.id),
        })),
    };
  }
}
