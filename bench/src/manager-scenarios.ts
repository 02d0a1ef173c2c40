import type { Participant, Scenario } from './scenario.ts';
import { percentile, perSecond } from './statistics.ts';

const BATCHES = [100, 30, 10];
const WARM_UP_MESSAGES = 2000;

/** Messages through the manager: waiting ones by batch size, and arriving in tens while it runs. */
function messages(count: number): Scenario {
  const bench = 'manager/messages';
  const participant = (label: string, batch: number, arriving: boolean): Participant => ({
    label,
    subject: 'heddle-manager',
    async warmUp(subject) {
      await subject.transport({ messages: WARM_UP_MESSAGES, batch, arriving });
    },
    async round(subject) {
      const ms = await subject.transport({ messages: count, batch, arriving });
      return [{ bench, metric: 'messages_per_s', value: perSecond(count, ms) }];
    },
  });
  return {
    benches: [bench],
    rounds: 3,
    participants: [
      ...BATCHES.map((batch) =>
        participant(batch === BATCHES[0] ? 'heddle' : `heddle in batches of ${batch}`, batch, false),
      ),
      participant('heddle arriving in batches of 10', 10, true),
    ],
  };
}

/** From a workflow's incoming message to its task's outgoing message. */
function startLatency(samples: number): Scenario {
  const bench = 'manager/start-latency';
  return {
    benches: [bench],
    rounds: 3,
    participants: [
      {
        label: 'heddle',
        subject: 'heddle-manager',
        async warmUp(subject) {
          await subject.latency(20);
        },
        async round(subject) {
          const latencies = await subject.latency(samples);
          const fromReceive = await subject.receiveToStart(samples);
          return [
            { bench, metric: 'p50_ms', value: percentile(latencies, 0.5) },
            { bench, metric: 'p99_ms', value: percentile(latencies, 0.99) },
            { bench, metric: 'receive_to_start_p50_ms', value: percentile(fromReceive, 0.5) },
          ];
        },
      },
    ],
  };
}

export function managerScenarios(quick: boolean): Scenario[] {
  return [messages(quick ? 4000 : 20_000), startLatency(quick ? 50 : 300)];
}
