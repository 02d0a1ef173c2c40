import { chain, diamonds, fanOut, taskCount } from './graphs.ts';
import type { Measurement } from './results.ts';
import type { SubjectName } from './registry.ts';
import { each } from './scenario.ts';
import type { Scenario } from './scenario.ts';
import { percentile, perSecond } from './statistics.ts';
import type { SubjectClient } from './subject-client.ts';
import type { Graph, RuleOption } from './subject.ts';
import { usagePerTask } from './usage.ts';

export interface Sizes {
  no_op: number;
  fan_out: number;
  chain: number;
  diamonds: number;
  samples: number;
  stored_many: number;
  stored_few: number;
}

export const FULL: Sizes = {
  no_op: 20_000,
  fan_out: 10_000,
  chain: 2000,
  diamonds: 1000,
  samples: 300,
  stored_many: 1_000_000,
  stored_few: 10_000,
};

export const QUICK: Sizes = {
  no_op: 4000,
  fan_out: 2000,
  chain: 100,
  diamonds: 100,
  samples: 50,
  stored_many: 20_000,
  stored_few: 2000,
};

const LINES_EACH = 10;
const WARM_UP_TASKS = 10_000;
const QUEUES: SubjectName[] = ['heddle', 'graphile-worker', 'pg-boss', 'bullmq', 'sql'];
const FLOWS: SubjectName[] = ['heddle', 'pg-boss', 'bullmq', 'sql'];

/** The benches of the two halves of a round. */
interface Halves {
  submit: string;
  process: string;
}

/** Stores tasks, then runs them: the rate of each, and what a task costs. */
async function submitAndProcess(
  subject: SubjectClient,
  count: number,
  benches: Halves,
  submit: () => Promise<number>,
): Promise<Measurement[]> {
  const start = await subject.usage();
  const submitMs = await submit();
  const stored = await subject.usage();
  const processMs = await subject.process(count);
  const done = await subject.usage();
  return [
    { bench: benches.submit, metric: 'submitted_per_s', value: perSecond(count, submitMs) },
    ...usagePerTask(benches.submit, 'submit', count, start, stored),
    { bench: benches.process, metric: 'processed_per_s', value: perSecond(count, processMs) },
    ...usagePerTask(benches.process, 'process', count, stored, done),
  ];
}

function independent(subject: SubjectClient, count: number, benches: Halves, rule: RuleOption): Promise<Measurement[]> {
  return submitAndProcess(subject, count, benches, () => subject.submit(count, rule));
}

async function warmUpQueue(subject: SubjectClient): Promise<void> {
  await subject.submit(WARM_UP_TASKS, 'none');
  await subject.process(WARM_UP_TASKS);
}

function noOp(sizes: Sizes): Scenario {
  const benches = { submit: 'engine/submit', process: 'engine/no-op' };
  return {
    benches: ['engine/submit', 'engine/no-op'],
    rounds: 5,
    participants: each(QUEUES, {
      warmUp: warmUpQueue,
      round: (subject) => independent(subject, sizes.no_op, benches, 'none'),
    }),
  };
}

/** As the no-op, with ten lines of log each, beside the same tasks without. */
function logs(sizes: Sizes): Scenario {
  const bench = 'engine/logs';
  const processed = async (subject: SubjectClient, lines: number): Promise<number> => {
    await subject.submit(sizes.no_op, 'none');
    return perSecond(sizes.no_op, await subject.process(sizes.no_op, lines));
  };
  return {
    benches: [bench],
    rounds: 5,
    participants: each(['heddle'], {
      warmUp: warmUpQueue,
      async round(subject) {
        const silent = await processed(subject, 0);
        const logging = await processed(subject, LINES_EACH);
        return [
          { bench, metric: 'processed_per_s', value: logging },
          { bench, metric: 'silent_per_s', value: silent },
        ];
      },
    }),
  };
}

function graphs(bench: string, warmUpGraphs: Graph[], measured: Graph[], rounds: number): Scenario {
  const run = (subject: SubjectClient, input: Graph[]): Promise<Measurement[]> =>
    submitAndProcess(subject, taskCount(input), { submit: bench, process: bench }, () => subject.submitGraphs(input));
  return {
    benches: [bench],
    rounds,
    participants: each(FLOWS, {
      async warmUp(subject) {
        await run(subject, warmUpGraphs);
      },
      round: (subject) => run(subject, measured),
    }),
  };
}

/** Percentiles of the samples, and what one costs, with its submission. */
async function latencies(
  bench: string,
  subject: SubjectClient,
  samples: number,
  measure: () => Promise<number[]>,
): Promise<Measurement[]> {
  const before = await subject.usage();
  const values = await measure();
  return [
    { bench, metric: 'p50_ms', value: percentile(values, 0.5) },
    { bench, metric: 'p99_ms', value: percentile(values, 0.99) },
    ...usagePerTask(bench, 'sample', samples, before, await subject.usage()),
  ];
}

function latency(sizes: Sizes): Scenario {
  return {
    benches: ['engine/latency'],
    rounds: 5,
    participants: each(QUEUES, {
      async warmUp(subject) {
        await subject.latency(20);
      },
      round: (subject) => latencies('engine/latency', subject, sizes.samples, () => subject.latency(sizes.samples)),
    }),
  };
}

function parentToChild(sizes: Sizes): Scenario {
  return {
    benches: ['engine/parent-to-child'],
    rounds: 5,
    participants: each(FLOWS, {
      async warmUp(subject) {
        await subject.parentToChild(20);
      },
      round: (subject) =>
        latencies('engine/parent-to-child', subject, sizes.samples, () => subject.parentToChild(sizes.samples)),
    }),
  };
}

/** The same process rate with and without a rule on every task, alternating. */
function rule(bench: string, option: RuleOption, sizes: Sizes): Scenario {
  const participant = (label: string, taken: RuleOption): Scenario['participants'][number] => ({
    label,
    subject: 'heddle',
    async warmUp(subject) {
      await independent(subject, WARM_UP_TASKS, { submit: bench, process: bench }, taken);
    },
    round: (subject) => independent(subject, sizes.no_op, { submit: bench, process: bench }, taken),
  });
  return {
    benches: [bench],
    rounds: 5,
    participants: [participant('heddle', option), participant('heddle without rules', 'none')],
  };
}

/** Rates and memory with many finished tasks in the store, archived or not, against few, retention running. */
function stored(sizes: Sizes): Scenario {
  const bench = `engine/stored-${Math.max(1, Math.round(sizes.stored_many / 1_000_000))}m`;
  const participant = (label: string, total: number, place: 'live' | 'archive'): Scenario['participants'][number] => ({
    label,
    subject: 'heddle',
    async warmUp(subject) {
      await subject.fillStore(total, place);
      await warmUpQueue(subject);
    },
    async round(subject) {
      return [
        ...(await independent(subject, sizes.no_op, { submit: bench, process: bench }, 'none')),
        { bench, metric: 'server_rss_mib', value: await subject.residentMib() },
      ];
    },
  });
  return {
    benches: [bench],
    rounds: 3,
    participants: [
      participant(`heddle at ${sizes.stored_few.toLocaleString('en-US')}`, sizes.stored_few, 'live'),
      participant('heddle', sizes.stored_many, 'live'),
      participant('heddle with an archive', sizes.stored_many, 'archive'),
    ],
  };
}

export function engineScenarios(sizes: Sizes): Scenario[] {
  return [
    noOp(sizes),
    logs(sizes),
    graphs('engine/fan-out', [fanOut(1000)], [fanOut(sizes.fan_out)], 5),
    graphs('engine/chain', [chain(50)], [chain(sizes.chain)], 3),
    graphs('engine/diamonds', diamonds(50, 10), diamonds(sizes.diamonds, 10), 5),
    latency(sizes),
    parentToChild(sizes),
    rule('engine/rule-concurrency', 'concurrency', sizes),
    rule('engine/rule-capacity', 'capacity', sizes),
    stored(sizes),
  ];
}
