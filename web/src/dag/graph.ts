import cytoscape from 'cytoscape';
import type { Core, ElementDefinition, NodeSingular } from 'cytoscape';
import type { Link } from '@heddle/client';
import { computeLayout } from '../layout/client.ts';
import { levelCurve } from '../layout/curves.ts';
import { CARD_HEIGHT, CARD_WIDTH } from '../layout/geometry.ts';
import type { LayoutInput, LayoutOutput } from '../layout/geometry.ts';
import { onThemeChange } from '../theme.ts';
import { CARD_FONT, graphStyle } from './graph-style.ts';
import { readPalette } from './palette.ts';
import { progressOf } from './task-store.ts';
import type { TaskStore, TaskView } from './task-store.ts';

/** Above this many tasks the graph is drawn plainly, for speed. */
const LARGE_GRAPH = 800;
/** Below this zoom labels are unreadable, and cards become blots of color. */
const FAR_ZOOM = 0.42;
const FIT_PADDING = 36;
const FIT_ZOOM_MAX = 1.25;

/**
 * Hook for tests and debugging: the live Cytoscape instance, whether the current structure is laid out and drawn, and
 * when that happened (milliseconds since navigation).
 */
export interface TestHook {
  cy: Core;
  ready: boolean;
  drawnAtMs: number | null;
  layout: LayoutOutput['engine'] | null;
}

declare global {
  interface Window {
    __heddle?: TestHook;
  }
}

/** Draws a store's tasks on a canvas and follows it: lays out new structure, and recolors on changes of state. */
export class Graph {
  readonly cy: Core;
  private readonly store: TaskStore;
  private readonly hook: TestHook;
  private readonly undo: (() => void)[] = [];
  private large: boolean;
  private far = false;
  private generation = 0;
  private dimmed: ReadonlySet<string> = new Set();
  private extent = { x1: 0, y1: 0, x2: 1, y2: 1 };

  constructor(
    container: HTMLElement,
    store: TaskStore,
    onSelect: (id: string | null) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.store = store;
    const rebuild = (): void => void this.rebuild().catch(onFailure);
    this.large = store.tasks.size > LARGE_GRAPH;
    this.cy = cytoscape({
      container,
      style: graphStyle(readPalette(), this.large),
      autoungrabify: true,
      boxSelectionEnabled: false,
      selectionType: 'single',
      minZoom: 0.01,
      maxZoom: 3,
      ...(this.large ? { pixelRatio: 1, hideEdgesOnViewport: true, textureOnViewport: true } : {}),
    });
    this.hook = { cy: this.cy, ready: false, drawnAtMs: null, layout: null };
    window.__heddle = this.hook;
    this.cy.on('select', 'node', (event) => onSelect((event.target as NodeSingular).id()));
    this.cy.on('tap', (event) => {
      if (event.target === this.cy) onSelect(null);
    });
    this.cy.on('zoom', () => this.setFar());
    this.undo.push(
      onThemeChange(() => this.cy.style(graphStyle(readPalette(), this.large))),
      store.subscribe((change) => {
        if (change.structure) rebuild();
        else this.recolour(change.ids);
      }),
    );
    const resized = new ResizeObserver(() => this.cy.resize());
    resized.observe(container);
    this.undo.push(() => resized.disconnect());
    if (store.loaded) rebuild();
  }

  destroy(): void {
    this.generation += 1;
    for (const step of this.undo) step();
    this.cy.destroy();
    if (window.__heddle === this.hook) delete window.__heddle;
  }

  /** Shows the whole graph. Takes the extent from the layout: Cytoscape would measure every label for it. */
  fit(): void {
    const { x1, y1, x2, y2 } = this.extent;
    const [width, height] = [this.cy.width(), this.cy.height()];
    const room = Math.min((width - 2 * FIT_PADDING) / (x2 - x1), (height - 2 * FIT_PADDING) / (y2 - y1));
    const zoom = Math.min(FIT_ZOOM_MAX, Math.max(this.cy.minZoom(), room));
    const pan = { x: width / 2 - (zoom * (x1 + x2)) / 2, y: height / 2 - (zoom * (y1 + y2)) / 2 };
    this.cy.viewport({ zoom, pan });
  }

  zoomBy(factor: number): void {
    const middle = { x: this.cy.width() / 2, y: this.cy.height() / 2 };
    this.cy.zoom({ level: this.cy.zoom() * factor, renderedPosition: middle });
  }

  panBy(x: number, y: number): void {
    this.cy.panBy({ x, y });
  }

  /** Marks a task, scrolls it into view and highlights its links; null removes the mark. */
  select(id: string | null): void {
    this.cy.batch(() => {
      this.cy.elements(':selected').unselect();
      this.cy.edges('.near').removeClass('near');
      if (id === null) return;
      const node = this.cy.getElementById(id);
      node.select();
      node.connectedEdges().addClass('near');
    });
    if (id !== null) this.reveal(id);
  }

  /** Fades every task for which `keep` returns false and, in a small graph, its links; null shows all. */
  highlight(keep: ((task: TaskView) => boolean) | null): void {
    const next = new Set<string>();
    if (keep !== null) for (const task of this.store.tasks.values()) if (!keep(task)) next.add(task.id);
    const last = this.dimmed;
    this.dimmed = next;
    if (next.size === 0 && last.size === 0) return;
    this.cy.batch(() => {
      for (const id of next) if (!last.has(id)) this.cy.getElementById(id).addClass('dim');
      for (const id of last) if (!next.has(id)) this.cy.getElementById(id).removeClass('dim');
      // Links of a large graph are faint anyway, and thousands of them take long to fade.
      if (this.large) return;
      for (const link of this.store.links) {
        const dim = next.has(link.parent_id) || next.has(link.child_id);
        const was = last.has(link.parent_id) || last.has(link.child_id);
        if (dim !== was) this.cy.getElementById(edgeId(link)).toggleClass('dim', dim);
      }
    });
  }

  private reveal(id: string): void {
    const node = this.cy.getElementById(id);
    if (node.empty()) return;
    const box = node.renderedBoundingBox({ includeLabels: false });
    const inside = box.x1 > 0 && box.y1 > 0 && box.x2 < this.cy.width() && box.y2 < this.cy.height();
    if (inside) return;
    this.cy.center(node);
  }

  private recolour(ids: readonly string[]): void {
    if (ids.length === 0) return;
    this.cy.batch(() => {
      for (const id of ids) {
        const task = this.store.tasks.get(id);
        if (task !== undefined) this.cy.getElementById(id).data(nodeData(task));
      }
    });
  }

  private async rebuild(): Promise<void> {
    this.generation += 1;
    const generation = this.generation;
    this.hook.ready = false;
    const tasks = [...this.store.tasks.values()];
    const input = layoutInput(tasks, this.store);
    const output = await computeLayout(input);
    if (generation !== this.generation) return;
    const first = this.cy.nodes().empty();
    this.large = tasks.length > LARGE_GRAPH;
    this.extent = extentOf(output.positions);
    const elements = elementsOf(tasks, this.store, output, this.large);
    this.cy.batch(() => {
      this.cy.elements().remove();
      this.cy.add(elements);
    });
    this.dimmed = new Set();
    // States may have changed while the worker was running.
    this.recolour(tasks.map((task) => task.id).filter((id, i) => this.store.tasks.get(id) !== tasks[i]));
    if (first) this.fit();
    this.setFar();
    this.hook.layout = output.engine;
    this.cy.one('render', () => {
      this.hook.ready = true;
      this.hook.drawnAtMs = performance.now();
    });
    this.cy.forceRender();
  }

  private setFar(): void {
    if (this.large) return;
    const far = this.cy.zoom() < FAR_ZOOM;
    if (far === this.far && far === this.cy.nodes().first().hasClass('far')) return;
    this.far = far;
    this.cy.batch(() => this.cy.nodes().toggleClass('far', far));
  }
}

function edgeId(link: Link): string {
  return `${link.parent_id}>${link.child_id}`;
}

function nodeData(task: TaskView): { status: string; progress: number | null } {
  return { status: task.status, progress: task.status === 'Success' ? null : progressOf(task) };
}

function layoutInput(tasks: readonly TaskView[], store: TaskStore): LayoutInput {
  const index = new Map(tasks.map((task, i) => [task.id, i]));
  const edges = store.links.flatMap((link) => {
    const parent = index.get(link.parent_id);
    const child = index.get(link.child_id);
    return parent === undefined || child === undefined ? [] : [parent, child];
  });
  return { count: tasks.length, edges: Int32Array.from(edges) };
}

function elementsOf(
  tasks: readonly TaskView[],
  store: TaskStore,
  output: LayoutOutput,
  large: boolean,
): ElementDefinition[] {
  const shorten = large
    ? shortener(CARD_WIDTH - 12, '16px Helvetica, Arial, sans-serif')
    : shortener(CARD_WIDTH - 48, CARD_FONT);
  const place = new Map<string, { x: number; y: number }>();
  const elements: ElementDefinition[] = tasks.map((task, i) => {
    const position = { x: output.positions[2 * i]!, y: output.positions[2 * i + 1]! };
    place.set(task.id, position);
    return {
      group: 'nodes',
      data: { id: task.id, label: shorten(task.name), ...nodeData(task) },
      position: { ...position },
    };
  });
  const lanes = new Map(output.lanes.map((lane) => [lane.edge, lane.points]));
  let edge = 0;
  for (const link of store.links) {
    const from = place.get(link.parent_id);
    const to = place.get(link.child_id);
    // A parent in another batch has no card here.
    if (from === undefined || to === undefined) continue;
    const curve = large ? {} : levelCurve(from, to, lanes.get(edge));
    edge += 1;
    elements.push({
      group: 'edges',
      selectable: false,
      data: {
        id: edgeId(link),
        source: link.parent_id,
        target: link.child_id,
        required: link.requires_success,
        ...curve,
      },
    });
  }
  return elements;
}

/** The rectangle around all cards. */
function extentOf(positions: Float32Array): { x1: number; y1: number; x2: number; y2: number } {
  const box = { x1: Infinity, y1: Infinity, x2: -Infinity, y2: -Infinity };
  for (let i = 0; i < positions.length; i += 2) {
    box.x1 = Math.min(box.x1, positions[i]! - CARD_WIDTH / 2);
    box.x2 = Math.max(box.x2, positions[i]! + CARD_WIDTH / 2);
    box.y1 = Math.min(box.y1, positions[i + 1]! - CARD_HEIGHT / 2);
    box.y2 = Math.max(box.y2, positions[i + 1]! + CARD_HEIGHT / 2);
  }
  return box;
}

/** Truncates a name to a width in pixels; measured once here, because Cytoscape would do it on every change. */
function shortener(widthMax: number, font: string): (name: string) => string {
  const context = document.createElement('canvas').getContext('2d')!;
  context.font = font;
  return (raw) => {
    const name = raw.replace(/\s+/g, ' ');
    if (context.measureText(name).width <= widthMax) return name;
    let low = 0;
    let high = name.length;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (context.measureText(`${name.slice(0, middle)}…`).width <= widthMax) low = middle;
      else high = middle - 1;
    }
    // Truncating inside a surrogate pair would leave half a character.
    return `${name
      .slice(0, low)
      .replace(/[\uD800-\uDBFF]$/, '')
      .trimEnd()}…`;
  };
}
