import type { Counter, Gauge, Histogram } from 'prom-client';

/** Label value for everything beyond the cap. */
export const OTHER_LABEL = 'other';

/** Limits how many values of a user-chosen label become time series: the first ones keep their name. */
export class CappedLabel {
  readonly #limit: number;
  readonly #known = new Set<string>();

  constructor(limit = 100) {
    this.#limit = limit;
  }

  of(value: string): string {
    if (this.#known.has(value)) return value;
    if (this.#known.size >= this.#limit) return OTHER_LABEL;
    this.#known.add(value);
    return value;
  }
}

type Caps<Label extends string> = Partial<Record<Label, CappedLabel>>;
type Labels<Label extends string> = Record<Label, string>;

function capped<Label extends string>(labels: Labels<Label>, caps: Caps<Label>): Labels<Label> {
  const copy = { ...labels };
  for (const name of Object.keys(caps) as Label[]) copy[name] = caps[name]!.of(labels[name]);
  return copy;
}

/** Counter with capped labels. Every label must be given. */
export class CappedCounter<Label extends string> {
  readonly #counter: Counter<Label>;
  readonly #caps: Caps<Label>;

  constructor(counter: Counter<Label>, caps: Caps<Label>) {
    this.#counter = counter;
    this.#caps = caps;
  }

  inc(labels: Labels<Label>, value = 1): void {
    this.#counter.inc(capped(labels, this.#caps), value);
  }
}

/** Histogram with capped labels. Every label must be given. */
export class CappedHistogram<Label extends string> {
  readonly #histogram: Histogram<Label>;
  readonly #caps: Caps<Label>;

  constructor(histogram: Histogram<Label>, caps: Caps<Label>) {
    this.#histogram = histogram;
    this.#caps = caps;
  }

  observe(labels: Labels<Label>, value: number): void {
    this.#histogram.observe(capped(labels, this.#caps), value);
  }
}

/** Gauge of one capped label whose values are replaced as a whole, so that removed ones disappear. */
export class SnapshotGauge<Label extends string> {
  readonly #gauge: Gauge<Label>;
  readonly #label: Label;
  readonly #cap: CappedLabel;

  constructor(gauge: Gauge<Label>, label: Label, cap: CappedLabel) {
    this.#gauge = gauge;
    this.#label = label;
    this.#cap = cap;
  }

  replace(values: Readonly<Record<string, number>>): void {
    this.#gauge.reset();
    for (const [value, count] of Object.entries(values)) {
      this.#gauge.inc({ [this.#label]: this.#cap.of(value) } as Labels<Label>, count);
    }
  }
}
