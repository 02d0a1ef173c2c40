import { median, medianInterval } from './statistics.ts';
import type { MedianInterval } from './statistics.ts';

/** One value of one round. */
export interface Measurement {
  bench: string;
  metric: string;
  value: number;
}

/** One line of the result. */
export interface Result {
  bench: string;
  subject: string;
  metric: string;
  value: number;
  /** The interval in which the true median is; see `medianInterval`. */
  interval: MedianInterval;
  rounds: number;
  /** Heddle's value divided by the peer's, by the rounds' ratios; empty for peers. */
  ratio_to: Record<string, Ratio>;
}

/** The median of the rounds' ratios, and the interval in which it is. */
export interface Ratio extends MedianInterval {
  median: number;
}

/** The values of one bench and metric: by subject, one per round. */
interface Series {
  bench: string;
  metric: string;
  values: Map<string, number[]>;
}

const BASE = 'heddle';

function rounded(value: number): number {
  return Number(value.toPrecision(value >= 1000 ? 5 : 3));
}

function roundedInterval(values: readonly number[]): MedianInterval {
  const { low, high, confidence } = medianInterval(values);
  return { low: rounded(low), high: rounded(high), confidence: rounded(confidence) };
}

/** Collects measurements of alternating rounds and computes medians and ratios. */
export class Results {
  readonly #series = new Map<string, Series>();

  add(subject: string, measurements: readonly Measurement[]): void {
    for (const { bench, metric, value } of measurements) {
      const key = `${bench} ${metric}`;
      const series = this.#series.get(key) ?? { bench, metric, values: new Map<string, number[]>() };
      this.#series.set(key, series);
      series.values.set(subject, [...(series.values.get(subject) ?? []), value]);
    }
  }

  /** The results of the benches that `wanted` accepts, in the order of measurement. */
  list(wanted: (bench: string) => boolean): Result[] {
    return [...this.#series.values()].filter(({ bench }) => wanted(bench)).flatMap(resultsOf);
  }
}

function resultsOf({ bench, metric, values }: Series): Result[] {
  return [...values].map(([subject, rounds]) => ({
    bench,
    subject,
    metric,
    value: rounded(median(rounds)),
    interval: roundedInterval(rounds),
    rounds: rounds.length,
    ratio_to: subject === BASE ? ratios(rounds, values) : {},
  }));
}

/** Rounds alternate, so that each ratio compares measurements close in time. */
function ratios(own: readonly number[], values: ReadonlyMap<string, readonly number[]>): Record<string, Ratio> {
  const result: Record<string, Ratio> = {};
  for (const [peer, theirs] of values) {
    if (peer === BASE) continue;
    const pairs = own.slice(0, theirs.length).map((value, round) => value / theirs[round]!);
    result[peer] = { median: rounded(median(pairs)), ...roundedInterval(pairs) };
  }
  return result;
}

/** Formats the results as a table, one line each. */
export function formatTable(results: readonly Result[]): string {
  const header = ['bench', 'subject', 'metric', 'median', 'between', 'rounds', 'heddle / peer'];
  const shown = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 3 });
  const lines = results.map((result) => [
    result.bench,
    result.subject,
    result.metric,
    shown(result.value),
    `${shown(result.interval.low)} - ${shown(result.interval.high)}`,
    String(result.rounds),
    Object.entries(result.ratio_to)
      .map(([peer, ratio]) => `${peer} ${ratio.median} (${ratio.low}-${ratio.high})`)
      .join(', '),
  ]);
  const widths = header.map((title, column) => Math.max(title.length, ...lines.map((line) => line[column]!.length)));
  const format = (line: readonly string[]): string =>
    line
      .map((cell, column) =>
        column >= 3 && column <= 5 ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join('  ')
      .trimEnd();
  return [header, ...lines].map(format).join('\n');
}
