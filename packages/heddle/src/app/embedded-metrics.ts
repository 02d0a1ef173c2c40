import type { Registry } from 'prom-client';

import type { Clock } from '@heddle/base/clock';
import type { LogSink } from './process-log.ts';

const NAMESPACE = 'Heddle';

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly gained: Record<string, number>;
}

/**
 * Writes counter increments as lines of CloudWatch's embedded metric format, which turns the log of a function into
 * metrics: a function cannot be scraped between two invocations. Writes only what has changed, one line for each set of
 * labels.
 */
export class EmbeddedMetrics {
  readonly #registry: Registry;
  readonly #sink: LogSink;
  readonly #clock: Clock;
  readonly #written = new Map<string, number>();

  constructor(registry: Registry, sink: LogSink, clock: Clock) {
    this.#registry = registry;
    this.#sink = sink;
    this.#clock = clock;
  }

  async write(): Promise<void> {
    const Timestamp = this.#clock.now();
    for (const { labels, gained } of await this.#gains()) {
      const Metrics = Object.keys(gained).map((Name) => ({ Name, Unit: 'Count' }));
      const Dimensions = [Object.keys(labels)];
      const _aws = { Timestamp, CloudWatchMetrics: [{ Namespace: NAMESPACE, Dimensions, Metrics }] };
      this.#sink.write(`${JSON.stringify({ _aws, ...labels, ...gained })}\n`);
    }
  }

  async #gains(): Promise<Series[]> {
    const bySeries = new Map<string, Series>();
    for (const { name, type, values } of await this.#registry.getMetricsAsJSON()) {
      if ((type as unknown) !== 'counter') continue;
      for (const { labels: given, value } of values) {
        const labels = Object.fromEntries(Object.entries(given).map(([label, text]) => [label, String(text)]));
        const series = JSON.stringify(labels);
        const key = `${name} ${series}`;
        const gain = value - (this.#written.get(key) ?? 0);
        if (gain === 0) continue;
        this.#written.set(key, value);
        const found = bySeries.get(series) ?? { labels, gained: {} };
        found.gained[name] = gain;
        bySeries.set(series, found);
      }
    }
    return [...bySeries.values()];
  }
}
