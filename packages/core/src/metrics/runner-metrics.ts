import { EXHAUSTIONS, type Exhaustion } from '../domain/runner/state.ts';
import { CappedCounter, CappedHistogram, CappedLabel } from '@heddle/base/capped-label';
import type { MetricFactory } from '@heddle/base/metric-factory';

/** From a direct handover to a machine that boots. */
const PICKUP_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];

/** Known label values, whose series exist with 0 from the first scrape. */
const PICKUP_SOURCES = ['idle', 'launch'] as const;
const REAPED = ['orphan', 'vanished'] as const;
/** Counted states; ended runners are not counted. */
const RUNNER_COUNTS = ['created', 'idle', 'claimed', 'running'] as const;

type LaunchOutcome = 'launched' | 'missing' | 'throttled' | 'capacity' | 'refused' | 'unclear';

/** Number of runners of a class by state, and of those waited for. */
type RunnerCensus = { resource_class: string; usage_class: string; waiting: number } & Record<
  (typeof RUNNER_COUNTS)[number],
  number
>;

/** Metrics of a runner pool. */
export function runnerMetrics(make: MetricFactory, classes: CappedLabel) {
  return {
    /** As reported by the pool. */
    pool: { ...pickupMetrics(make, classes), ...launchMetrics(make) },
    setRunners: runnerGauges(make, classes),
  };
}

function pickupMetrics(make: MetricFactory, classes: CappedLabel) {
  const seconds = new CappedHistogram(
    make.histogram(
      'heddle_pool_pickup_seconds',
      'Time from a request for runners to its grant, by class and by what it was granted of',
      PICKUP_SECONDS,
      ['resource_class', 'source'],
    ),
    { resource_class: classes },
  );
  const hits = make.counter(
    'heddle_pool_hits_total',
    'Requests that were granted: by runners that there were (idle), or by those that were launched since (launch)',
    ['source'],
  );
  const exhausted = make.counter(
    'heddle_pool_exhausted_total',
    'Times that a request found no runner: none idle (global), none that fits (local), or not known (uncertain)',
    ['type'],
  );
  const drivers = new CappedLabel();
  const requeued = new CappedCounter(
    make.counter('heddle_pool_requeued_total', 'Messages of runners that were given back, being for others', [
      'driver',
    ]),
    { driver: drivers },
  );
  const discarded = new CappedCounter(
    make.counter('heddle_pool_discarded_total', 'Messages of runners that were dropped as unusable', ['driver']),
    { driver: drivers },
  );
  for (const source of PICKUP_SOURCES) hits.inc({ source }, 0);
  for (const type of EXHAUSTIONS) exhausted.inc({ type }, 0);
  return {
    pickup(resource_class: string, source: (typeof PICKUP_SOURCES)[number], elapsed: number): void {
      seconds.observe({ resource_class, source }, Math.max(0, elapsed));
      hits.inc({ source });
    },
    requeued: (driver: string, count: number): void => requeued.inc({ driver }, count),
    discarded: (driver: string, count: number): void => discarded.inc({ driver }, count),
    exhausted: (type: Exhaustion, count: number): void => exhausted.inc({ type }, count),
  };
}

function launchMetrics(make: MetricFactory) {
  const launches = new CappedCounter(
    make.counter('heddle_pool_launches_total', 'Runners that were to be launched, by provider and what came of it', [
      'provider',
      'outcome',
    ]),
    { provider: new CappedLabel() },
  );
  const ended = new CappedCounter(
    make.counter('heddle_pool_ended_total', 'Runners that were ended, by reason', ['reason']),
    { reason: new CappedLabel() },
  );
  const reaped = make.counter(
    'heddle_pool_reconciled_total',
    'Instances that the pool did not know (orphan), and runners whose instance was gone (vanished)',
    ['what'],
  );
  for (const what of REAPED) reaped.inc({ what }, 0);
  return {
    launches: (provider: string, outcome: LaunchOutcome, count: number): void =>
      launches.inc({ provider, outcome }, count),
    ended: (reason: string, count: number): void => ended.inc({ reason }, count),
    reaped: (what: (typeof REAPED)[number], count: number): void => reaped.inc({ what }, count),
  };
}

function runnerGauges(make: MetricFactory, classes: CappedLabel) {
  const runners = make.gauge('heddle_pool_runners', 'Runners of the pool that have not ended, by class and state', [
    'resource_class',
    'usage_class',
    'state',
  ]);
  const waiting = make.gauge('heddle_pool_waiting', 'Runners that waiting requests ask for, by class', [
    'resource_class',
    'usage_class',
  ]);
  return (census: readonly RunnerCensus[]): void => {
    runners.reset();
    waiting.reset();
    for (const counts of census) {
      const { usage_class } = counts;
      const resource_class = classes.of(counts.resource_class);
      for (const state of RUNNER_COUNTS) runners.inc({ resource_class, usage_class, state }, counts[state]);
      waiting.inc({ resource_class, usage_class }, counts.waiting);
    }
  };
}
