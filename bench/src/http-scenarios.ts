import { fileURLToPath } from 'node:url';
import { BATCH_SIZE } from './load.ts';
import type { LoadKind, LoadRequest, LoadResult } from './load.ts';
import { startRemote } from './remote.ts';
import type { Measurement } from './results.ts';
import { each } from './scenario.ts';
import type { Scenario } from './scenario.ts';
import { perSecond } from './statistics.ts';
import type { SubjectClient } from './subject-client.ts';
import type { HttpTarget } from './subject.ts';
import { usagePerTask } from './usage.ts';

const LOAD_MODULE = fileURLToPath(new URL('../load-process.ts', import.meta.url));
const RUNNING_TASKS = 1000;

/** Sends requests from a separate process, so that the server has its event loop to itself. */
async function sendLoad(request: LoadRequest): Promise<LoadResult> {
  const generator = startRemote(LOAD_MODULE, [request.kind]);
  try {
    return (await generator.call('run', [request])) as LoadResult;
  } finally {
    await generator.end();
  }
}

interface Load {
  kind: LoadKind;
  connections: number;
  /** Unit counted per request. */
  units: number;
  rate: string;
  p99: string;
  /** Prefix of the metrics of what a request costs. */
  cost: string;
}

function http(bench: string, loads: readonly Load[], durationMs: number): Scenario {
  const targets = new Map<SubjectClient, HttpTarget>();
  const run = async (subject: SubjectClient, load: Load, milliseconds: number): Promise<Measurement[]> => {
    const { kind, connections } = load;
    const before = await subject.usage();
    const result = await sendLoad({ kind, connections, target: targets.get(subject)!, duration_ms: milliseconds });
    const count = result.requests * load.units;
    return [
      { bench, metric: load.rate, value: perSecond(count, result.elapsed_ms) },
      { bench, metric: load.p99, value: result.p99_ms },
      ...usagePerTask(bench, load.cost, count, before, await subject.usage()),
      { bench, metric: `${load.cost}_load_cpu_us`, value: result.cpu_us / count },
    ];
  };
  return {
    benches: [bench],
    rounds: 5,
    participants: each(['heddle', 'naive', 'ceiling'], {
      async warmUp(subject) {
        targets.set(subject, await subject.listen(RUNNING_TASKS));
        for (const load of loads) await run(subject, load, durationMs / 3);
      },
      async round(subject) {
        const measurements: Measurement[] = [];
        for (const load of loads) measurements.push(...(await run(subject, load, durationMs)));
        return measurements;
      },
    }),
  };
}

export function httpScenarios(quick: boolean): Scenario[] {
  const durationMs = quick ? 600 : 3000;
  return [
    http(
      'http/put-counters',
      [
        { kind: 'put-counters', connections: 64, units: 1, rate: 'requests_per_s', p99: 'p99_ms', cost: 'request' },
        {
          kind: 'put-hot-counter',
          connections: 64,
          units: 1,
          rate: 'hot_requests_per_s',
          p99: 'hot_p99_ms',
          cost: 'hot_request',
        },
      ],
      durationMs,
    ),
    http(
      'http/post-single',
      [{ kind: 'post-single', connections: 64, units: 1, rate: 'requests_per_s', p99: 'p99_ms', cost: 'request' }],
      durationMs,
    ),
    http(
      'http/post-batch-1000',
      [
        {
          kind: 'post-batch-1000',
          connections: 4,
          units: BATCH_SIZE,
          rate: 'tasks_per_s',
          p99: 'p99_ms',
          cost: 'task',
        },
      ],
      durationMs,
    ),
  ];
}
