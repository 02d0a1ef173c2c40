import { onThemeChange } from '../theme.ts';
import { CardPainter, covers } from './draw-cards.ts';
import type { Content } from './draw-cards.ts';
import { drawScene } from './draw-scene.ts';
import type { Viewport } from './draw-scene.ts';
import { listenForGestures } from './gestures.ts';
import { readPalette } from './palette.ts';
import type { Palette } from './palette.ts';
import { EMPTY_SCENE } from './scene.ts';
import type { Scene, SceneNode } from './scene.ts';

const FIT_PADDING = 36;
const FIT_ZOOM_MAX = 1.25;
const ZOOM_MIN = 0.01;
const ZOOM_MAX = 3;
/** A scene that takes longer to draw is moved as a picture, and drawn again when it rests. */
const SLOW_MS = 30;
const REST_MS = 120;

/** A canvas with a scene that can be moved and zoomed. What the cards show is read on each drawing. */
export class GraphCanvas {
  readonly canvas = document.createElement('canvas');
  private readonly context = this.canvas.getContext('2d')!;
  /** The last complete drawing of a slow scene, and where it was. */
  private readonly picture = document.createElement('canvas');
  private pictureAt: Viewport | null = null;
  private readonly container: HTMLElement;
  private readonly contentOf: (node: SceneNode) => Content;
  private readonly undo: (() => void)[] = [];
  private palette: Palette = readPalette();
  private painter = new CardPainter(this.context, this.palette);
  private view: Viewport = { zoom: 1, x: 0, y: 0 };
  private size = { width: 1, height: 1 };
  private shown: Scene = EMPTY_SCENE;
  private selected: string | null = null;
  private dimmed: ReadonlySet<string> = new Set();
  private frame = 0;
  private rest: ReturnType<typeof setTimeout> | undefined;
  private drawMs = 0;
  /** Called once after the next complete drawing. */
  private whenDrawn: (() => void) | null = null;

  /** @param onTap called with the node that was clicked, or null */
  constructor(
    container: HTMLElement,
    contentOf: (node: SceneNode) => Content,
    onTap: (node: SceneNode | null) => void,
  ) {
    this.container = container;
    this.contentOf = contentOf;
    container.append(this.canvas);
    const resized = new ResizeObserver(() => this.resize());
    resized.observe(container);
    this.resize();
    this.undo.push(
      () => resized.disconnect(),
      onThemeChange(() => {
        this.palette = readPalette();
        this.painter = new CardPainter(this.context, this.palette);
        this.repaint();
      }),
      listenForGestures(this.canvas, {
        panBy: (x, y) => this.panBy(x, y),
        zoomAt: (factor, at) => this.zoomAt(factor, at),
        tap: (at) => onTap(this.nodeAt(at)),
      }),
    );
  }

  destroy(): void {
    for (const step of this.undo) step();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.rest);
    this.canvas.remove();
  }

  get scene(): Scene {
    return this.shown;
  }

  get viewport(): Viewport {
    return { ...this.view };
  }

  isDimmed(id: string): boolean {
    return this.dimmed.has(id);
  }

  show(scene: Scene, whenDrawn: () => void): void {
    const isFirst = this.shown.nodes.length === 0;
    this.shown = scene;
    this.whenDrawn = whenDrawn;
    if (isFirst) this.fit();
    else this.repaint();
  }

  fit(): void {
    const { x1, y1, x2, y2 } = this.shown.extent;
    const { width, height } = this.size;
    const room = Math.min((width - 2 * FIT_PADDING) / (x2 - x1), (height - 2 * FIT_PADDING) / (y2 - y1));
    const zoom = clamp(room, ZOOM_MIN, FIT_ZOOM_MAX);
    this.view = { zoom, x: width / 2 - (zoom * (x1 + x2)) / 2, y: height / 2 - (zoom * (y1 + y2)) / 2 };
    this.repaint();
  }

  zoomBy(factor: number): void {
    this.zoomAt(factor, { x: this.size.width / 2, y: this.size.height / 2 });
  }

  panBy(x: number, y: number): void {
    this.view = { ...this.view, x: this.view.x + x, y: this.view.y + y };
    this.move();
  }

  /** Marks a node, scrolls it into view and highlights its links; null removes the mark. */
  select(id: string | null): void {
    this.selected = id;
    const node = id === null ? undefined : this.find(id);
    if (node !== undefined && !this.isOnScreen(node)) this.centre(node);
    this.repaint();
  }

  fade(dimmed: ReadonlySet<string>): void {
    if (dimmed.size === 0 && this.dimmed.size === 0) return;
    this.dimmed = dimmed;
    this.repaint();
  }

  find(id: string): SceneNode | undefined {
    const place = this.shown.places.get(id);
    return place === undefined ? undefined : this.shown.nodes[place];
  }

  /** Position of a node's center on the canvas. */
  placeOf({ x, y }: SceneNode): { x: number; y: number } {
    const { zoom } = this.view;
    return { x: x * zoom + this.view.x, y: y * zoom + this.view.y };
  }

  /** Draws everything again, with the next frame. */
  repaint(): void {
    this.pictureAt = null;
    this.schedule();
  }

  private nodeAt({ x, y }: { x: number; y: number }): SceneNode | null {
    const at = { x: (x - this.view.x) / this.view.zoom, y: (y - this.view.y) / this.view.zoom };
    return this.shown.nodes.find((node) => covers(node, at)) ?? null;
  }

  private isOnScreen(node: SceneNode): boolean {
    const { x, y } = this.placeOf(node);
    return x > 0 && y > 0 && x < this.size.width && y < this.size.height;
  }

  private centre({ x, y }: SceneNode): void {
    const { zoom } = this.view;
    this.view = { zoom, x: this.size.width / 2 - x * zoom, y: this.size.height / 2 - y * zoom };
  }

  private zoomAt(factor: number, at: { x: number; y: number }): void {
    const zoom = clamp(this.view.zoom * factor, ZOOM_MIN, ZOOM_MAX);
    const change = zoom / this.view.zoom;
    this.view = { zoom, x: at.x - (at.x - this.view.x) * change, y: at.y - (at.y - this.view.y) * change };
    this.move();
  }

  private move(): void {
    if (this.drawMs <= SLOW_MS) this.pictureAt = null;
    this.schedule();
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.container;
    const scale = devicePixelRatio;
    this.size = { width: Math.max(1, width), height: Math.max(1, height) };
    for (const each of [this.canvas, this.picture]) {
      each.width = Math.round(this.size.width * scale);
      each.height = Math.round(this.size.height * scale);
    }
    this.repaint();
  }

  private schedule(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (this.pictureAt === null) this.draw();
      else this.movePicture(this.pictureAt);
    });
  }

  private draw(): void {
    const startedAt = performance.now();
    const { context, painter, palette, shown, view } = this;
    const frame = { ...this.size, scale: this.canvas.width / this.size.width, viewport: view };
    const marks = { selected: this.selected, dimmed: this.dimmed };
    drawScene(context, painter, palette, shown, frame, marks, this.contentOf);
    this.drawMs = performance.now() - startedAt;
    if (this.drawMs > SLOW_MS) {
      const copy = this.picture.getContext('2d')!;
      copy.clearRect(0, 0, this.picture.width, this.picture.height);
      copy.drawImage(this.canvas, 0, 0);
      this.pictureAt = view;
    }
    this.whenDrawn?.();
    this.whenDrawn = null;
  }

  private movePicture(from: Viewport): void {
    const { context, picture, view } = this;
    const scale = this.canvas.width / this.size.width;
    const factor = view.zoom / from.zoom;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(
      picture,
      scale * (view.x - from.x * factor),
      scale * (view.y - from.y * factor),
      picture.width * factor,
      picture.height * factor,
    );
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.repaint(), REST_MS);
  }
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
