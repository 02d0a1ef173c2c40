import { Type, type Static } from 'typebox';

import { BATCH_WIRE_STATE } from '@heddle/base/vocabulary/task-state';
import type { ListedQueue, ListedSlot, ListedWorker, SlotPage } from '@heddle/core/engine/overview/port';
import { isoTime, isoTimeOrNull, Metadata, nullable, oneOf, Status, Timestamp, Uuid } from './basics.ts';
import { CappedCountDto } from './home.ts';

const Many = (description: string) => Type.Integer({ minimum: 0, description });
const Task = { id: Uuid('The task.'), name: Type.String() };

export const WorkerDto = Type.Object(
  {
    id: Type.String({ description: 'Name in its claims, with that of its token.' }),
    name: Type.String(),
    type: oneOf(['server', 'worker', 'queue_worker', 'runner', 'pull'], {
      description:
        '`worker`: `heddle worker` without a database; `queue_worker`: one that reads queues; `pull`: a client of the pull API.',
    }),
    version: nullable(Type.String({ description: 'Of Heddle; null if it did not register.' })),
    host: nullable(Type.String()),
    kinds: Type.Array(Type.String(), { description: 'Kinds that it runs.' }),
    concurrency: nullable(Type.Integer({ description: 'Maximum number of concurrent tasks.' })),
    running: Many('Tasks that it runs now.'),
    started_at: nullable(Timestamp('When it started')),
    last_seen_at: Timestamp('Its last heartbeat or claim, or the last heartbeat of one of its tasks'),
    state: oneOf(['live', 'stale', 'lost'], {
      description: '`stale`: not seen for 30 s; `lost`: not for a minute, although it did not stop in order.',
    }),
    tasks: Type.Array(
      Type.Object(
        { ...Task, kind: Type.String(), claimed_at: Timestamp('When it claimed the task') },
        { additionalProperties: false },
      ),
      { description: 'The first 20 of its running tasks.' },
    ),
  },
  { additionalProperties: false, title: 'Worker' },
);
export type WorkerDto = Static<typeof WorkerDto>;

export const ListedQueueDto = Type.Object(
  {
    name: Type.String({ description: 'A kind, or a queue: `manager`, `worker:KIND`.' }),
    type: oneOf(['kind', 'messages'], { description: '`kind`: tasks of a kind; `messages`: a queue in PostgreSQL.' }),
    ready: CappedCountDto,
    in_flight: Many('Running tasks, or received messages that are not settled.'),
    delayed: Many('Tasks or messages whose time has not come.'),
    dead: Many('Dead letters, up to 10,000.'),
    oldest_at: nullable(Timestamp('Since when the oldest ready one waits')),
    workers: Many('Workers of the kind that were seen in the last minute.'),
  },
  { additionalProperties: false, title: 'ListedQueue' },
);
export type ListedQueueDto = Static<typeof ListedQueueDto>;

export const SlotDto = Type.Object(
  {
    id: Type.String({ description: '16 hexadecimal digits.' }),
    rule: oneOf(['Concurrency', 'Capacity']),
    kind: Type.String(),
    fields: Metadata('The values of the fields of the rule that the tasks of this slot have in common.'),
    max: Many('Limit of the rule; the lowest if the rules of tasks differ.'),
    used: Many('How much of it is taken: tasks, or units of work that are left.'),
    full: Type.Boolean(),
    waiting: CappedCountDto,
    waiting_since: nullable(Timestamp('When the first waiting task became ready')),
    holders: Type.Array(
      Type.Object(
        { ...Task, status: Status, claimed_at: nullable(Timestamp('When it was claimed')) },
        { additionalProperties: false },
      ),
      { description: 'Tasks that hold it, the longest first: at most 20.' },
    ),
    waiters: Type.Array(Type.Object(Task, { additionalProperties: false }), {
      description: 'Tasks that wait for it, the next ones first: at most 20.',
    }),
  },
  { additionalProperties: false, title: 'Slot' },
);
export type SlotDto = Static<typeof SlotDto>;

export const SlotPageDto = Type.Object(
  {
    slots: Type.Array(SlotDto),
    next: nullable(Type.String({ description: '`after` of the next page; null on the last one.' })),
  },
  { additionalProperties: false, title: 'SlotPage' },
);
export type SlotPageDto = Static<typeof SlotPageDto>;

export function workerToWire(worker: ListedWorker): WorkerDto {
  return {
    ...worker,
    started_at: isoTimeOrNull(worker.started_at),
    last_seen_at: isoTime(worker.last_seen_at),
    tasks: worker.tasks.map((task) => ({ ...task, claimed_at: isoTime(task.claimed_at) })),
  };
}

export function listedQueueToWire(queue: ListedQueue): ListedQueueDto {
  return { ...queue, oldest_at: isoTimeOrNull(queue.oldest_at) };
}

export function slotToWire(slot: ListedSlot): SlotDto {
  return {
    ...slot,
    waiting_since: isoTimeOrNull(slot.waiting_since),
    holders: slot.holders.map(({ state, claimed_at, ...task }) => {
      return { ...task, status: BATCH_WIRE_STATE[state], claimed_at: isoTimeOrNull(claimed_at) };
    }),
  };
}

export function slotPageToWire({ slots, next }: SlotPage): SlotPageDto {
  return { slots: slots.map(slotToWire), next };
}
