import { COUNTED_STATES } from '../api/pool.ts';
import type { CountedState } from '../api/pool.ts';
import { formatClock } from '../times.ts';
import { topOf, totalOf } from './history.ts';
import type { Point } from './history.ts';
import { STATE_COLOUR, STATE_LABEL } from './runner-state.tsx';

const WIDTH = 1000;
const HEIGHT = 150;

/** From bottom to top. */
const STACKED = ['running', 'claimed', 'idle', 'created'] as const satisfies readonly CountedState[];

/** A stacked chart of runners by state over time, with the number of requested runners that wait. */
export function HistoryChart({ points }: { points: readonly Point[] }) {
  const top = topOf(points);
  const x = (index: number): number => (points.length < 2 ? 0 : (index * WIDTH) / (points.length - 1));
  const y = (count: number): number => HEIGHT - (count * HEIGHT) / top;
  const first = points[0];
  const last = points.at(-1);
  return (
    <figure className="pool-history">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={describe(points)}
        data-testid="pool-history"
      >
        {STACKED.map((state, index) => (
          <polygon
            key={state}
            points={areaOf(points, STACKED.slice(0, index), state, x, y)}
            fill={STATE_COLOUR[state]}
            fillOpacity="0.75"
          />
        ))}
        <polyline
          points={points.map(({ waiting }, index) => `${x(index)},${y(waiting)}`).join(' ')}
          className="pool-waiting-line"
        />
        {points.map((point, index) => (
          <rect key={point.at} x={x(index - 0.5)} y="0" width={WIDTH / points.length} height={HEIGHT} fillOpacity="0">
            <title>{titleOf(point)}</title>
          </rect>
        ))}
      </svg>
      <span className="quiet tabular pool-top">{top.toLocaleString()}</span>
      <figcaption>
        <span className="quiet tabular">{first === undefined ? '' : formatClock(first.at)}</span>
        <span className="pool-legend">
          {COUNTED_STATES.map((state) => (
            <span key={state}>
              <i style={{ background: STATE_COLOUR[state] }} /> {STATE_LABEL[state]}
            </span>
          ))}
          <span>
            <i className="pool-waiting-key" /> Waiting
          </span>
        </span>
        <span className="quiet tabular">{last === undefined ? '' : formatClock(last.at)}</span>
      </figcaption>
    </figure>
  );
}

function areaOf(
  points: readonly Point[],
  below: readonly CountedState[],
  state: CountedState,
  x: (index: number) => number,
  y: (count: number) => number,
): string {
  const base = points.map((point) => below.reduce((sum, each) => sum + point[each], 0));
  const upper = points.map((point, index) => `${x(index)},${y(base[index]! + point[state])}`);
  const lower = base.map((count, index) => `${x(index)},${y(count)}`).reverse();
  return [...upper, ...lower].join(' ');
}

function titleOf(point: Point): string {
  const parts = COUNTED_STATES.map((state) => `${point[state].toLocaleString()} ${STATE_LABEL[state].toLowerCase()}`);
  return `${formatClock(point.at)}: ${parts.join(', ')}; ${point.waiting.toLocaleString()} waiting`;
}

function describe(points: readonly Point[]): string {
  const most = Math.max(0, ...points.map(totalOf));
  const waiting = Math.max(0, ...points.map(({ waiting }) => waiting));
  const runners = `at most ${most.toLocaleString()} runners`;
  return `Runners by state, per minute: ${runners}, at most ${waiting.toLocaleString()} waiting`;
}
