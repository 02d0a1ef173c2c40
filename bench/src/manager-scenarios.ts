import type { Participant, Scenario } from './scenario.ts';
import { percentile, perSecond } from './statistics.ts';
import type { TransportShape } from './subject.ts';

const WARM_UP_MESSAGES = 2000;

const MESSAGE_SHAPES: Record<string, Omit<TransportShape, 'messages'>> = {
  heddle: { batch: 100 },
  'heddle in batches of 30': { batch: 30 },
  'heddle in batches of 10': { batch: 10 },
  'heddle arriving in batches of 10': { batch: 10, arriving: true },
  'queue alone in batches of 10': { batch: 10, queueAlone: true },
  'queue alone arriving in batches of 10': { batch: 10, arriving: true, queueAlone: true },
};

/**
 * Messages through the manager: waiting ones by batch size, and arriving in tens while it runs; and through its queue alone,
 * without any work for them.
 */
function messages(count: number): Scenario {
  const bench = 'manager/messages';
  const participant = ([label, shape]: [string, Omit<TransportShape, 'messages'>]): Participant => ({
    label,
    subject: 'heddle-manager',
    async warmUp(subject) {
      await subject.transport({ messages: WARM_UP_MESSAGES, ...shape });
    },
    async round(subject) {
      const ms = await subject.transport({ messages: count, ...shape });
      return [{ bench, metric: 'messages_per_s', value: perSecond(count, ms) }];
    },
  });
  return {
    benches: [bench],
    rounds: 3,
    participants: Object.entries(MESSAGE_SHAPES).map(participant),
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
