import type { SubjectName } from '../registry.ts';
import type { Measurement } from '../results.ts';
import type { Participant, Scenario } from '../scenario.ts';
import { median, perSecond } from '../statistics.ts';
import type { RemoteDeadlineRequest, RemoteLoad, RemoteMemoryRequest } from '../subject.ts';
import type { SubjectClient } from '../subject-client.ts';

interface Sizes {
  rounds: number;
  warm_up_ms: number;
  /** Number of rounds, and of those that measure the 99th percentile of latency. */
  throughput_ms: number;
  latency_ms: number;
  deadlines: number;
}

const FULL: Sizes = { rounds: 5, warm_up_ms: 3_000, throughput_ms: 5_000, latency_ms: 15_000, deadlines: 5 };
const QUICK: Sizes = { rounds: 2, warm_up_ms: 1_000, throughput_ms: 1_500, latency_ms: 3_000, deadlines: 1 };

const PEERS: readonly SubjectName[] = ['pre-forked', 'fresh-node'];

/**
 * Targets on two cores: in the jail p50 below 5 ms, p99 below 25 ms and 40 tasks/s; pooled 5,000 tasks/s; signed calls
 * 15,000/s over TCP, 1,500/s over gRPC and XML-RPC; the end of a task within 100 ms of its deadline and of all its
 * processes within 300 ms; memory less than 10 % beyond its limit.
 */
export function executionScenarios(quick: boolean): Scenario[] {
  const sizes = quick ? QUICK : FULL;
  return [
    dispatch('remote/dispatch-jail', 'jail', sizes),
    dispatch('remote/dispatch-process', 'process', sizes),
    throughput('remote/throughput-jail', { tier: 'jail', in_flight: 16 }, sizes),
    throughput('remote/throughput-pooled', { tier: 'pooled', in_flight: 48 }, sizes),
    ingress('tcp', 256, sizes),
    ingress('grpc', 64, sizes),
    ingress('xmlrpc', 64, sizes),
    deadlines(sizes),
    memory(sizes),
  ];
}

function subjectOf(tier: RemoteLoad['tier']): SubjectName {
  return tier === 'jail' ? 'heddle-jail' : 'heddle-executor';
}

function heddleAndPeers(
  tier: RemoteLoad['tier'],
  participant: (subject: SubjectName) => Omit<Participant, 'label' | 'subject'>,
): Participant[] {
  const own = subjectOf(tier);
  return [own, ...PEERS].map((subject) => ({
    label: subject === own ? 'heddle' : subject,
    subject,
    ...participant(subject),
  }));
}

/** Tasks at random times, at half the rate that the subject has just shown. */
function dispatch(bench: string, tier: RemoteLoad['tier'], sizes: Sizes): Scenario {
  const load = { tier, protocol: 'tcp', call: 'task' } as const;
  const participants = heddleAndPeers(tier, () => {
    let per_s = 0;
    return {
      async warmUp(client) {
        const pace = { in_flight: 16 };
        await client.remoteLoad({ ...load, pace, duration_ms: sizes.warm_up_ms });
        const { count, wall_ms } = await client.remoteLoad({ ...load, pace, duration_ms: sizes.warm_up_ms });
        per_s = perSecond(count, wall_ms) / 2;
      },
      async round(client): Promise<Measurement[]> {
        const run = await client.remoteLoad({ ...load, pace: { per_s }, duration_ms: sizes.latency_ms });
        return [
          { bench, metric: 'p50_ms', value: run.p50_ms },
          { bench, metric: 'p99_ms', value: run.p99_ms },
          { bench, metric: 'offered_per_s', value: per_s },
        ];
      },
    };
  });
  return { benches: [bench], rounds: sizes.rounds, participants };
}

/** Tasks that do nothing, at full throughput. */
function throughput(
  bench: string,
  { tier, in_flight }: { tier: RemoteLoad['tier']; in_flight: number },
  sizes: Sizes,
): Scenario {
  const load = { tier, protocol: 'tcp', call: 'task', pace: { in_flight } } as const;
  const participants = heddleAndPeers(tier, () => steps(bench, 'tasks_per_s', load, sizes));
  return { benches: [bench], rounds: sizes.rounds, participants };
}

/** The smallest signed call, many at once: the client and the executor's listener, validation and responses. */
function ingress(protocol: RemoteLoad['protocol'], in_flight: number, sizes: Sizes): Scenario {
  const bench = `remote/ingress-${protocol}`;
  const load = { tier: 'pooled', protocol, call: 'event', pace: { in_flight } } as const;
  const participants = [
    { label: 'heddle', subject: 'heddle-executor', ...steps(bench, 'calls_per_s', load, sizes) } as const,
  ];
  return { benches: [bench], rounds: sizes.rounds, participants };
}

function steps(
  bench: string,
  metric: string,
  load: Omit<RemoteLoad, 'duration_ms'>,
  { warm_up_ms, throughput_ms }: Sizes,
): Pick<Participant, 'warmUp' | 'round'> {
  return {
    async warmUp(client) {
      await client.remoteLoad({ ...load, duration_ms: warm_up_ms });
    },
    async round(client): Promise<Measurement[]> {
      const { count, wall_ms, p50_ms } = await client.remoteLoad({ ...load, duration_ms: throughput_ms });
      return [
        { bench, metric, value: perSecond(count, wall_ms) },
        { bench, metric: 'p50_ms', value: p50_ms },
      ];
    },
  };
}

const LIMITED = ['jail', 'process'] as const;

/** The jail, and a process that has detached children. */
function deadlines({ rounds, deadlines: samples }: Sizes): Scenario {
  const bench = 'remote/deadline';
  const participants = LIMITED.map((tier): Participant => {
    const request: RemoteDeadlineRequest = { tier, samples };
    return {
      ...{ label: `heddle, ${tier}`, subject: subjectOf(tier) },
      warmUp: (client) => client.remoteDeadlines({ ...request, samples: 1 }).then(() => undefined),
      async round(client): Promise<Measurement[]> {
        const { killed_ms, none_left_ms } = await client.remoteDeadlines(request);
        return [
          { bench, metric: 'killed_ms', value: median(killed_ms) },
          { bench, metric: 'killed_max_ms', value: Math.max(...killed_ms) },
          { bench, metric: 'none_left_ms', value: median(none_left_ms) },
          { bench, metric: 'none_left_max_ms', value: Math.max(...none_left_ms) },
        ];
      },
    };
  });
  return { benches: [bench], rounds, participants };
}

/** Beyond what an idle process of a task already uses, in percent of the limit; below 0 if it never reached it. */
function memory({ rounds }: Sizes): Scenario {
  const bench = 'remote/memory';
  const overshoot = async (client: SubjectClient, request: RemoteMemoryRequest): Promise<number> => {
    const { cap_mib, peak_mib, idle_mib } = await client.remoteMemory(request);
    return ((peak_mib - idle_mib) / cap_mib - 1) * 100;
  };
  const participants = LIMITED.map((tier): Participant => ({
    ...{ label: `heddle, ${tier}`, subject: subjectOf(tier) },
    warmUp: (client) => client.remoteMemory({ tier, allocates: 'buffers' }).then(() => undefined),
    async round(client): Promise<Measurement[]> {
      return [
        { bench, metric: 'buffers_overshoot_pct', value: await overshoot(client, { tier, allocates: 'buffers' }) },
        { bench, metric: 'objects_overshoot_pct', value: await overshoot(client, { tier, allocates: 'objects' }) },
      ];
    },
  }));
  return { benches: [bench], rounds, participants };
}
