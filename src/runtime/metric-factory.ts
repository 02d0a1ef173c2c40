import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Makes metrics in one registry, each by its name, its help text and its labels. */
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
