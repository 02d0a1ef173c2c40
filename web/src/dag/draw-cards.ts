import { CARD_HEIGHT, CARD_WIDTH } from '../layout/geometry.ts';
import { SHAPES } from '../ui/glyphs.tsx';
import { STATE, partsOf } from '../ui/state.ts';
import type { State, Tally } from '../ui/state.ts';
import type { Palette } from './palette.ts';
import type { SceneNode } from './scene.ts';

/** Width of a card's colored stripe. */
const STRIPE_WIDTH = 30;
const RADIUS = 8;
const GLYPH = 16;
const DARK_TEXT = '#10161d';
/** States whose color is light. */
const DARK_ON: ReadonlySet<State> = new Set<State>(['pending', 'paused']);

/** What a card shows now. */
export type Content =
  | { type: 'task'; name: string; state: State; progress: number | null }
  | { type: 'group'; name: string; tally: Tally; count: number };

const paths = new Map<State, Path2D>();

function glyphPath(state: State): Path2D {
  const known = paths.get(state) ?? new Path2D(SHAPES[state]);
  paths.set(state, known);
  return known;
}

/** Draws cards on a canvas whose unit is that of the layout. */
export class CardPainter {
  private readonly context: CanvasRenderingContext2D;
  private readonly palette: Palette;
  /** Truncated names: measuring them takes longer than drawing them. */
  private readonly shortened = new Map<string, string>();

  constructor(context: CanvasRenderingContext2D, palette: Palette) {
    this.context = context;
    this.palette = palette;
  }

  /** A card with a glyph and a name. */
  near(node: SceneNode, content: Content): void {
    if (content.type === 'group') this.group(node, content);
    else this.task(node, content);
  }

  /** From afar: its color and, if there is room, its glyph. */
  far(node: SceneNode, content: Content, withGlyph: boolean): void {
    const { context, palette } = this;
    const [left, top] = [node.x - CARD_WIDTH / 2, node.y - node.height / 2];
    if (content.type === 'group') {
      this.bar(left, top, CARD_WIDTH, node.height, content.tally);
      return;
    }
    context.fillStyle = palette.state[content.state];
    // Ends that need no attention are less high, so that the others stand out without color, too.
    const inset = STATE[content.state].ended && !STATE[content.state].bad ? 6 : 0;
    context.fillRect(left, top + inset, CARD_WIDTH, node.height - 2 * inset);
    if (withGlyph) this.glyph(content.state, node.x, node.y, 32);
  }

  outline(node: SceneNode, width: number, gap: number): void {
    const { context, palette } = this;
    context.strokeStyle = palette.accent;
    context.lineWidth = width;
    this.box(node, gap + width / 2);
    context.stroke();
  }

  private task(node: SceneNode, { name, state, progress }: Content & { type: 'task' }): void {
    const { context, palette } = this;
    const [left, top] = [node.x - CARD_WIDTH / 2, node.y - node.height / 2];
    context.save();
    this.box(node, 0);
    context.clip();
    context.fillStyle = palette.tint[state];
    context.fillRect(left, top, CARD_WIDTH, node.height);
    if (progress !== null) {
      context.fillStyle = palette.done[state];
      context.fillRect(left, top, STRIPE_WIDTH + (CARD_WIDTH - STRIPE_WIDTH) * progress, node.height);
    }
    context.fillStyle = palette.state[state];
    context.fillRect(left, top, STRIPE_WIDTH, node.height);
    context.restore();
    this.border(node, state);
    this.glyph(state, left + STRIPE_WIDTH / 2, node.y, GLYPH);
    this.words(this.short(name, 13, CARD_WIDTH - STRIPE_WIDTH - 18), left + STRIPE_WIDTH + 9, node.y, 13);
  }

  /** A deck of cards: its name and number, the counts by state, and a bar divided by them. */
  private group(node: SceneNode, { name, tally, count }: Content & { type: 'group' }): void {
    const { context, palette } = this;
    const [left, top] = [node.x - CARD_WIDTH / 2, node.y - node.height / 2];
    for (const shift of [5, 2.5, 0]) {
      context.fillStyle = palette.surface;
      context.strokeStyle = palette.line;
      context.lineWidth = 1.5;
      this.box({ ...node, x: node.x + shift, y: node.y - shift }, 0);
      context.fill();
      context.stroke();
    }
    const number = `× ${count.toLocaleString()}`;
    context.font = `500 13px ${palette.font}`;
    const numberWidth = context.measureText(number).width;
    this.words(this.short(name, 13, CARD_WIDTH - 26 - numberWidth), left + 9, top + 13, 13);
    this.words(number, left + CARD_WIDTH - 9 - numberWidth, top + 13, 13);
    let at = left + 9;
    for (const { state, n } of partsOf(tally)) {
      if (state === 'open') continue;
      const words = n.toLocaleString();
      context.font = `500 11px ${palette.font}`;
      const width = 15 + context.measureText(words).width;
      if (at + width > left + CARD_WIDTH - 9) break;
      context.fillStyle = palette.state[state];
      context.fillRect(at, top + 22, 12, 12);
      this.glyph(state, at + 6, top + 28, 12);
      this.words(words, at + 15, top + 28.5, 11);
      at += width + 8;
    }
    this.bar(left + 9, top + 39, CARD_WIDTH - 18, 6, tally);
  }

  /** A bar divided by state; each part is at least visible. */
  private bar(left: number, top: number, width: number, height: number, tally: Tally): void {
    const parts = partsOf(tally);
    const total = parts.reduce((sum, { n }) => sum + n, 0);
    const least = Math.min(3, width / Math.max(1, parts.length));
    const room = width - least * parts.length;
    let at = left;
    for (const { state, n } of parts) {
      const part = least + (room * n) / total;
      this.context.fillStyle = this.palette.state[state === 'open' ? 'waiting' : state];
      this.context.fillRect(at, top, part, height);
      at += part;
    }
  }

  /** A cue beside the color: dashes for what waits or does not count, a strong line for what runs or failed. */
  private border(node: SceneNode, state: State): void {
    const { context, palette } = this;
    const { ended, bad } = STATE[state];
    context.strokeStyle = palette.state[state];
    context.lineWidth = bad || state === 'running' ? 3 : 1.5;
    context.setLineDash((ended && !bad && state !== 'succeeded') || state === 'waiting' ? [5, 4] : []);
    this.box(node, 0);
    context.stroke();
    context.setLineDash([]);
  }

  private box({ x, y, height }: SceneNode, grow: number): void {
    const { context } = this;
    context.beginPath();
    context.roundRect(
      x - CARD_WIDTH / 2 - grow,
      y - height / 2 - grow,
      CARD_WIDTH + 2 * grow,
      height + 2 * grow,
      RADIUS + grow,
    );
  }

  private glyph(state: State, x: number, y: number, size: number): void {
    const { context } = this;
    const scale = size / GLYPH;
    context.save();
    context.translate(x - size / 2, y - size / 2);
    context.scale(scale, scale);
    context.strokeStyle = DARK_ON.has(state) ? DARK_TEXT : '#ffffff';
    context.lineWidth = 1.8;
    context.lineCap = 'round';
    context.lineJoin = 'round';
    context.stroke(glyphPath(state));
    if (state === 'running') {
      context.fillStyle = context.strokeStyle;
      context.fill(glyphPath(state));
    }
    context.restore();
  }

  private words(text: string, x: number, y: number, size: number): void {
    const { context, palette } = this;
    context.font = `500 ${size}px ${palette.font}`;
    context.fillStyle = palette.text;
    context.textBaseline = 'middle';
    context.fillText(text, x, y);
  }

  /** Truncates a name to a width. */
  private short(raw: string, size: number, widthMax: number): string {
    const key = `${Math.round(widthMax)} ${raw}`;
    const known = this.shortened.get(key);
    if (known !== undefined) return known;
    this.context.font = `500 ${size}px ${this.palette.font}`;
    const name = raw.replace(/\s+/g, ' ');
    const text = this.context.measureText(name).width <= widthMax ? name : this.cut(name, widthMax);
    this.shortened.set(key, text);
    return text;
  }

  private cut(name: string, widthMax: number): string {
    let low = 0;
    let high = Math.min(name.length, CARD_WIDTH);
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.context.measureText(`${name.slice(0, middle)}…`).width <= widthMax) low = middle;
      else high = middle - 1;
    }
    // Truncating inside a surrogate pair would leave half a character.
    const text = name.slice(0, low).replace(/[\uD800-\uDBFF]$/, '');
    return `${text.trimEnd()}…`;
  }
}

/** The area of a card, for clicks. */
export function covers({ x, y, height }: SceneNode, at: { x: number; y: number }): boolean {
  return Math.abs(at.x - x) <= CARD_WIDTH / 2 && Math.abs(at.y - y) <= Math.max(height, CARD_HEIGHT) / 2;
}
