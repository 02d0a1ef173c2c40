import type { Measurement } from './results.ts';
import type { Participant, Scenario } from './scenario.ts';
import { perSecond } from './statistics.ts';
import type { TreeShape } from './subject.ts';

const WARM_UP: TreeShape = { type: 'fan-out', children: 2000 };

function participant(bench: string, label: string, shape: TreeShape, tasks: number): Participant {
  return {
    label,
    subject: 'heddle',
    async warmUp(subject) {
      await subject.runTrees(WARM_UP);
    },
    async round(subject): Promise<Measurement[]> {
      const ms = await subject.runTrees(shape);
      return [
        { bench, metric: 'tasks_per_s', value: perSecond(tasks, ms) },
        { bench, metric: 'us_per_task', value: (ms * 1000) / tasks },
        { bench, metric: 'server_rss_mib', value: await subject.residentMib() },
      ];
    },
  };
}

/** A generator, its no-op children and an aggregator, compared with a hundredth of the children. */
function fanOut(children: number): Scenario {
  const bench = 'workflow/fan-out';
  const few = children / 100;
  return {
    benches: [bench],
    rounds: 3,
    participants: [
      participant(bench, 'heddle', { type: 'fan-out', children }, children + 2),
      participant(bench, `heddle with ${few.toLocaleString('en-US')}`, { type: 'fan-out', children: few }, few + 2),
    ],
  };
}

/** Many workflows at once: a task, a parallel container, a task. */
function sideBySide(workflows: number): Scenario {
  const bench = 'workflow/side-by-side';
  const shape: TreeShape = { type: 'side-by-side', workflows, tasks: 100 };
  return { benches: [bench], rounds: 3, participants: [participant(bench, 'heddle', shape, workflows * 100)] };
}

/** Nested containers: a task at each depth, before the container below it. */
function nested(depth: number): Scenario {
  const bench = 'workflow/nested';
  return {
    benches: [bench],
    rounds: 3,
    participants: [participant(bench, 'heddle', { type: 'nested', depth }, depth)],
  };
}

export function workflowScenarios(quick: boolean): Scenario[] {
  return [fanOut(quick ? 10_000 : 100_000), sideBySide(quick ? 50 : 1000), nested(100)];
}
