import { STATE, STATES } from '../ui/state.ts';
import type { State } from '../ui/state.ts';

/** Colors for the canvas: `rgb(r, g, b)`, read from the style sheet so that they are defined only once. */
export interface Palette {
  state: Record<State, string>;
  /** A pale state color, for the body of a card. */
  tint: Record<State, string>;
  /** Half-way between, for the completed part of a card. */
  done: Record<State, string>;
  text: string;
  quiet: string;
  surface: string;
  line: string;
  edge: string;
  /** Blended manually: separate opacity would cost time on large graphs. */
  edgeFaint: string;
  edgeStrong: string;
  accent: string;
  font: string;
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
  const state = {} as Record<State, string>;
  const tint = {} as Record<State, string>;
  const done = {} as Record<State, string>;
  for (const name of STATES) {
    const colour = read(`--status-${STATE[name].colour}`);
    state[name] = text(colour);
    tint[name] = text(mix(colour, surface, 0.12));
    done[name] = text(mix(colour, surface, 0.38));
  }
  const palette = {
    state,
    tint,
    done,
    text: text(read('--text')),
    quiet: text(read('--quiet')),
    surface: text(surface),
    line: text(read('--line-strong')),
    edge: text(read('--edge')),
    edgeFaint: text(mix(read('--edge'), read('--bg'), 0.6)),
    edgeStrong: text(read('--edge-strong')),
    accent: text(read('--accent')),
    font: getComputedStyle(probe).fontFamily,
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
