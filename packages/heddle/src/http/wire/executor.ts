import { Type, type Static } from 'typebox';

import type { ExecutorEndpoint, ExecutorStatus } from '../ports.ts';
import { isoTime, isoTimeOrNull, nullable, oneOf, Timestamp } from './basics.ts';

const Many = (description: string) => Type.Integer({ minimum: 0, description });

const RecentTaskDto = Type.Object(
  {
    correlation_id: Type.String({ description: 'The task on its executor.' }),
    event_name: Type.String(),
    status: Type.String({ description: '`pending`, `running`, `success` or `error`.' }),
    code: nullable(Type.String({ description: 'Why it failed.' })),
    created_at: Type.String({ description: 'By the clock of the executor (RFC 3339).' }),
    duration_ms: nullable(Type.Number({ minimum: 0 })),
  },
  { additionalProperties: false },
);

const ExecutorStatusDto = Type.Object(
  {
    version: Type.String(),
    tier: Type.String({ description: 'Isolation of tasks: `pooled`, `process`, `jail`, `container`.' }),
    workers: Many('Maximum concurrent tasks.'),
    busy: Many('Running tasks.'),
    queue_depth: Many('Waiting tasks.'),
    max_pending_tasks: Many('Maximum waiting tasks.'),
    uptime_seconds: Type.Number({ minimum: 0 }),
    recent: Type.Array(RecentTaskDto, { description: 'The latest tasks of this server’s client, newest first.' }),
  },
  { additionalProperties: false },
);

export const ExecutorDto = Type.Object(
  {
    executor: Type.String({ description: 'The name that tasks use.' }),
    endpoint: Type.String({ description: 'Protocol, host and port.' }),
    state: oneOf(['unknown', 'healthy', 'degraded', 'draining', 'unreachable'], {
      description:
        '`unknown` before the first response; `unreachable` while calls fail; else the status that it reports.',
    }),
    in_flight: Many('Calls of this server without a response yet.'),
    answered_at: nullable(Timestamp('Its latest response')),
    last_error: nullable(
      Type.Object({ at: Timestamp('When it was received'), message: Type.String() }, { additionalProperties: false }),
    ),
    clock_offset_ms: nullable(Type.Integer({ description: 'Offset of its clock ahead of this server’s.' })),
    status: nullable(ExecutorStatusDto),
  },
  { additionalProperties: false, title: 'Executor' },
);
export type ExecutorDto = Static<typeof ExecutorDto>;

export function executorToWire(endpoint: ExecutorEndpoint): ExecutorDto {
  const { answered_at, last_error, status, ...rest } = endpoint;
  return {
    ...rest,
    answered_at: isoTimeOrNull(answered_at),
    last_error: last_error === null ? null : { at: isoTime(last_error.at), message: last_error.message },
    status: status === null ? null : statusToWire(status),
  };
}

/** Copies known members only: others that an executor may report are not passed on. */
function statusToWire(status: ExecutorStatus): ExecutorDto['status'] {
  const { version, tier, workers, busy, queue_depth, max_pending_tasks, uptime_seconds, recent } = status;
  return {
    version,
    tier,
    workers,
    busy,
    queue_depth,
    max_pending_tasks,
    uptime_seconds,
    recent: recent.map(({ correlation_id, event_name, status: state, code, created_at, duration_ms }) => ({
      correlation_id,
      event_name,
      status: state,
      code: code ?? null,
      created_at,
      duration_ms: duration_ms ?? null,
    })),
  };
}
