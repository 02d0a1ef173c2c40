import { Type, type Static } from 'typebox';

import { tellsOfWorkflow } from '@heddle/core/domain/notification/notification';
import type { DeliveryRecord } from '@heddle/core/engine/port';
import { ActionDto, actionToWire } from './action.ts';
import { NoticeDto, noticeToWire } from './notification.ts';
import { isoTime, isoTimeOrNull, nullable, oneOf, Timestamp, Uuid } from './basics.ts';

export const DELIVERY_STATES = ['held', 'due', 'delivered', 'dead'] as const;

export const DeliveryDto = Type.Object(
  {
    id: Type.String(),
    task_id: nullable(Uuid('The task it concerns; null if it concerns the end of a workflow.')),
    batch_id: Uuid('The batch or workflow of the task.'),
    task_name: nullable(Type.String()),
    task_kind: nullable(Type.String()),
    origin: Type.String({ description: 'Scheme, host and port of the target; `smtp:` for mail.' }),
    attempt: Type.Integer(),
    action: Type.Union([ActionDto, NoticeDto]),
    state: oneOf([...DELIVERY_STATES]),
    tries: Type.Integer(),
    idempotency_key: Type.String(),
    created_at: Timestamp('When it was created'),
    first_try_at: nullable(Timestamp('When it was first tried')),
    next_try_at: nullable(Timestamp('When the next try is due')),
    delivered_at: nullable(Timestamp('When it was delivered')),
    last_status: nullable(
      Type.Integer({ description: 'HTTP status of the last response; for mail, the SMTP status.' }),
    ),
    last_error: nullable(Type.String()),
  },
  { additionalProperties: false, title: 'DeliveryDto' },
);
export type DeliveryDto = Static<typeof DeliveryDto>;

export const ReplayedDto = Type.Object(
  { replayed: Type.Integer() },
  { additionalProperties: false, title: 'Replayed' },
);

export function deliveryToWire(record: DeliveryRecord): DeliveryDto {
  return {
    id: record.id,
    task_id: tellsOfWorkflow(record) ? null : record.task_id,
    batch_id: record.workflow_id,
    task_name: record.task_name,
    task_kind: record.task_kind,
    origin: record.origin,
    attempt: record.attempt,
    action: record.action.trigger === 'notify' ? noticeToWire(record.action) : actionToWire(record.action),
    state: record.state,
    tries: record.tries,
    idempotency_key: record.idempotency_key,
    created_at: isoTime(record.created_at),
    first_try_at: isoTimeOrNull(record.first_try_at),
    next_try_at: isoTimeOrNull(record.next_try_at),
    delivered_at: isoTimeOrNull(record.delivered_at),
    last_status: record.last_status,
    last_error: record.last_error,
  };
}
