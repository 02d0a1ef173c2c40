import type { SubjectName } from './registry.ts';
import type { Participant, Scenario } from './scenario.ts';
import { percentile, perSecond } from './statistics.ts';
import type { SubjectClient } from './subject-client.ts';

const QUEUES: readonly SubjectName[] = ['heddle', 'pg-boss', 'bullmq'];

interface Sizes {
  messages: number;
  samples: number;
}

/** Milliseconds from sending to a waiting receiver. */
function sendToReceive(subject: SubjectClient, name: SubjectName, samples: number): Promise<number[]> {
  return name === 'heddle' ? subject.transportLatency(samples) : subject.latency(samples);
}

/** Queues as transports only: messages sent, received and deleted in batches, with four senders and four receivers. */
function throughput(batch: number, { messages }: Sizes): Scenario {
  const bench = 'queue/transport';
  const participant = (subject: SubjectName): Participant => ({
    label: subject,
    subject,
    async warmUp(client) {
      await client.transport({ messages: messages / 5, batch });
    },
    async round(client) {
      const ms = await client.transport({ messages, batch });
      return [{ bench, metric: `messages_per_s_by_${batch}`, value: perSecond(messages, ms) }];
    },
  });
  return { benches: [bench], rounds: 3, participants: QUEUES.map(participant) };
}

function latency({ samples }: Sizes): Scenario {
  const bench = 'queue/transport';
  const participant = (subject: SubjectName): Participant => ({
    label: subject,
    subject,
    async warmUp(client) {
      await sendToReceive(client, subject, 20);
    },
    async round(client) {
      const latencies = await sendToReceive(client, subject, samples);
      return [
        { bench, metric: 'p50_ms', value: percentile(latencies, 0.5) },
        { bench, metric: 'p99_ms', value: percentile(latencies, 0.99) },
      ];
    },
  });
  return { benches: [bench], rounds: 3, participants: QUEUES.map(participant) };
}

export function transportScenarios(quick: boolean): Scenario[] {
  const sizes = quick ? { messages: 5_000, samples: 50 } : { messages: 50_000, samples: 300 };
  return [throughput(10, sizes), throughput(100, sizes), latency(sizes)];
}
