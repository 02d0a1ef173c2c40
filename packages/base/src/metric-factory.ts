import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Creates metrics in one registry, by name, help text and labels. */
export class MetricFactory {
  readonly registry: Registry;

  constructor(registry: Registry) {
    this.registry = registry;
  }

  counter<Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []): Counter<Label> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  gauge<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Gauge<Label> {
    return new Gauge({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly Label[] = [],
  ): Histogram<Label> {
    return new Histogram({ name, help, buckets, labelNames: [...labelNames], registers: [this.registry] });
  }
}
