import { STATUSES } from '../status.ts';
import type { Status } from '../status.ts';

/** Colors for Cytoscape: `rgb(r, g, b)`, read from the style sheet so that they are defined only once. */
export interface Palette {
  status: Record<Status, string>;
  /** A pale status color, for the body of a card. */
  tint: Record<Status, string>;
  /** Half-way between, for the completed part of a card. */
  done: Record<Status, string>;
  text: string;
  edge: string;
  /** Blended manually: separate opacity would cost time on large graphs. */
  edgeFaint: string;
  edgeStrong: string;
  accent: string;
}

type Rgb = [number, number, number];

export function readPalette(): Palette {
  const probe = document.createElement('span');
  document.body.append(probe);
  const read = (variable: string): Rgb => {
    probe.style.color = `var(${variable})`;
    const parts =
      getComputedStyle(probe)
        .color.match(/[\d.]+/g)
        ?.map(Number) ?? [];
    return [parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0];
  };
  const surface = read('--surface');
  const status = {} as Record<Status, string>;
  const tint = {} as Record<Status, string>;
  const done = {} as Record<Status, string>;
  for (const name of STATUSES) {
    const colour = read(`--status-${name.toLowerCase()}`);
    status[name] = text(colour);
    tint[name] = text(mix(colour, surface, 0.12));
    done[name] = text(mix(colour, surface, 0.38));
  }
  const palette = {
    status,
    tint,
    done,
    text: text(read('--text')),
    edge: text(read('--edge')),
    edgeFaint: text(mix(read('--edge'), read('--bg'), 0.6)),
    edgeStrong: text(read('--edge-strong')),
    accent: text(read('--accent')),
  };
  probe.remove();
  return palette;
}

function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return [0, 1, 2].map((i) => Math.round(a[i]! * share + b[i]! * (1 - share))) as Rgb;
}

function text([r, g, b]: Rgb): string {
  return `rgb(${r}, ${g}, ${b})`;
}
