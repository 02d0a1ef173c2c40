import { Type, type Static } from 'typebox';

import { redactRequests, redactText } from '@heddle/base/redact';
import { isoTime, Timestamp, Uuid } from './basics.ts';

const REDRIVE_IDS_MAX = 1_000;

const Many = (description: string) => Type.Integer({ minimum: 0, description });

export const QueueDto = Type.Object(
  {
    name: Type.String(),
    visible: Many('Messages that can be received now.'),
    in_flight: Many('Messages that were received and not settled.'),
    delayed: Many('Messages whose delay has not passed.'),
    dead: Many('Dead letters; with SQS those of all queues together.'),
  },
  { additionalProperties: false, title: 'Queue' },
);
export type QueueDto = Static<typeof QueueDto>;

export const DeadLetterDto = Type.Object(
  {
    id: Type.String({ description: 'Id of the message.' }),
    queue: Type.String({ description: 'The queue that it came from.' }),
    body: Type.String({ description: 'The message as it was sent; JSON by convention.' }),
    reason: Type.String({ description: 'Why it was dead-lettered.' }),
    receive_count: Type.Integer({ description: 'How often it was delivered.' }),
    sent_at: Timestamp('When it was sent'),
    dead_lettered_at: Timestamp('When it was dead-lettered'),
  },
  { additionalProperties: false, title: 'DeadLetter' },
);
export type DeadLetterDto = Static<typeof DeadLetterDto>;

export const RedriveDto = Type.Object(
  {
    ids: Type.Optional(
      Type.Array(Uuid('A dead letter.'), {
        minItems: 1,
        maxItems: REDRIVE_IDS_MAX,
        description: 'Only these (default all of the queue).',
      }),
    ),
  },
  { additionalProperties: false, title: 'Redrive' },
);
export type RedriveDto = Static<typeof RedriveDto>;

export const RedrivenDto = Type.Object(
  { redriven: Many('Redriven dead letters.') },
  { additionalProperties: false, title: 'Redriven' },
);
export type RedrivenDto = Static<typeof RedrivenDto>;

/** A dead letter as the queue returns it. */
interface DeadLetterRecord extends Omit<DeadLetterDto, 'sent_at' | 'dead_lettered_at'> {
  sent_at: number;
  dead_lettered_at: number;
}

export function deadLetterToWire(letter: DeadLetterRecord, secretsToo: boolean): DeadLetterDto {
  const { id, queue, reason, receive_count } = letter;
  const body = secretsToo ? letter.body : withoutSecrets(letter.body);
  return {
    id,
    queue,
    body,
    reason,
    receive_count,
    sent_at: isoTime(letter.sent_at),
    dead_lettered_at: isoTime(letter.dead_lettered_at),
  };
}

function withoutSecrets(body: string): string {
  try {
    return JSON.stringify(redactRequests(JSON.parse(body)));
  } catch {
    return redactText(body);
  }
}
