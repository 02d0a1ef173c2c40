import type { State } from './state.ts';

/** One shape for each state, drawn in a box of 16; white on the state's colour. */
export const SHAPES: Readonly<Record<State, string>> = {
  waiting: 'M5 4h6M5 12h6M6 4c0 3 4 5 4 8M10 4c0 3-4 5-4 8',
  pending: 'M8 4.5V8l2.5 1.8M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3',
  claimed: 'M5 8.2h6M8.5 5.2l3 3-3 3',
  running: 'M6 4.2v7.6L12 8z',
  creating: 'M8 4v8M4 8h8',
  paused: 'M6 4.5v7M10 4.5v7',
  succeeded: 'M4 8.4l2.8 2.8L12 5.4',
  partial: 'M4 9.2l2 2 3-3.4M12 4v4.4M12 11.2v.3',
  failed: 'M5 5l6 6M11 5l-6 6',
  timeout: 'M8 5v3.4M8 11v.4M8 2.6L13.6 13H2.4z',
  canceled: 'M4.2 8h7.6',
  skipped: 'M4 4.6L8 8l-4 3.4M8.4 4.6l4 3.4-4 3.4',
};

/** The sign of a state: its shape on its colour. Decorative: the label is beside it. */
export function StateGlyph({ state, size = 16 }: { state: State; size?: number }) {
  return (
    <svg className={`glyph glyph-${state}`} viewBox="0 0 16 16" width={size} height={size} aria-hidden="true">
      <rect className="glyph-ground" width="16" height="16" rx="4" />
      <path className="glyph-shape" d={SHAPES[state]} />
    </svg>
  );
}
