import { Type, type Static } from 'typebox';

import { ATTEMPT_OUTCOMES, type TaskAttempt } from '@heddle/base/vocabulary/attempt';
import { isoTimeOrNull, nullable, oneOf, Timestamp } from './basics.ts';

export const TaskAttemptDto = Type.Object(
  {
    attempt: Type.Integer({ description: 'Its number, from 1.' }),
    claimed_by: nullable(
      Type.String({
        description: 'The worker that claimed it; the server, if it sent the start to a target or a queue.',
      }),
    ),
    target: nullable(Type.String({ description: 'Origin of the URL of its start webhook.' })),
    target_status: nullable(Type.Integer({ description: 'HTTP status of the last response to its start webhook.' })),
    claimed_at: nullable(Timestamp('When it was claimed')),
    started_at: nullable(Timestamp('When it started')),
    ended_at: nullable(Timestamp('When it ended')),
    outcome: nullable(
      oneOf(ATTEMPT_OUTCOMES, {
        description:
          '`lost`: its worker sent no heartbeat. `released`: its worker returned it. `undelivered`: its start reached ' +
          'no one. Otherwise the state that it left its task in. Null: it has not ended.',
      }),
    ),
    reason: nullable(Type.String()),
    exit_code: nullable(Type.Integer({ description: 'Of its command; null if it ran none, or was killed.' })),
  },
  { additionalProperties: false, title: 'TaskAttempt' },
);
export type TaskAttemptDto = Static<typeof TaskAttemptDto>;

export function attemptToWire({ claimed_at, started_at, ended_at, ...attempt }: TaskAttempt): TaskAttemptDto {
  return {
    ...attempt,
    claimed_at: isoTimeOrNull(claimed_at),
    started_at: isoTimeOrNull(started_at),
    ended_at: isoTimeOrNull(ended_at),
  };
}
