import { Type, type Static } from 'typebox';

import { RUNNER_STATES } from '@heddle/core/domain/runner/state';
import type { GrantedRunner, Orders } from '@heddle/core/pool/port/store';
import { isoTime, nullable, oneOf, Timestamp, Uuid } from './basics.ts';

const EPOCH_MAX = 2_147_483_647;
const TEXT_MAX = 300;
export const AGENT_WAIT_MAX_SECS = 60;

function line(description: string) {
  return Type.String({
    minLength: 1,
    maxLength: TEXT_MAX,
    pattern: '^[^\\u0000-\\u001f\\u007f]*$',
    patternMeaning: 'string without control characters',
    description,
  });
}

const Epoch = Type.Integer({ minimum: 0, maximum: EPOCH_MAX, description: 'Number of the claim.' });

/** A runner of a task, as its other runners see it. */
export const GrantedRunnerDto = Type.Object(
  {
    id: Uuid('The runner.'),
    number: Type.Integer({ description: 'Short, and unique in this system.' }),
    instance_type: Type.String(),
    address: nullable(Type.String({ description: 'Its address for the others.' })),
  },
  { additionalProperties: false, title: 'TaskRunner' },
);

export const RegisterRunnerDto = Type.Object(
  {
    runner_id: Type.Optional(Uuid('The runner, if its process knows it.')),
    batch_id: Type.Optional(Uuid('Otherwise the launch that started it.')),
    provider_id: line('Its id at the provider.'),
    address: Type.Optional(line('Its address for other runners of the same task.')),
  },
  { additionalProperties: false, title: 'RegisterRunner' },
);
export type RegisterRunnerDto = Static<typeof RegisterRunnerDto>;

export const OrdersDto = Type.Object(
  {
    runner_id: Uuid('The runner.'),
    number: Type.Integer({ description: 'Short, and unique in this system.' }),
    state: oneOf([...RUNNER_STATES]),
    epoch: Epoch,
    request_id: nullable(Uuid('The request that claimed it.')),
    task_id: nullable(Uuid('The task that it runs, if it is the first runner of the task.')),
    ready: Type.Boolean({ description: 'Whether all runners of the request have confirmed.' }),
    peers: Type.Array(Type.Object({ ...GrantedRunnerDto.properties, epoch: Epoch }, { additionalProperties: false }), {
      description: 'All runners of the request, this one included.',
    }),
    threshold: Timestamp('When its state ends'),
    draining: Type.Boolean({ description: 'It is to end as soon as it is free.' }),
    now: Timestamp('The time of the answer, which the threshold is compared with'),
  },
  { additionalProperties: false, title: 'RunnerOrders' },
);
export type OrdersDto = Static<typeof OrdersDto>;

export const RegisteredRunnerDto = Type.Object(
  {
    orders: nullable(OrdersDto),
    credential: nullable(
      Type.String({ description: 'Bearer token of all further calls of this runner; null if it is to end.' }),
    ),
    heartbeat_ms: Type.Integer({ description: 'Interval of its heartbeats.' }),
    exit_grace_ms: Type.Integer({ description: 'Time after its threshold at which it ends itself.' }),
    disconnected_ms: Type.Integer({ description: 'Time without an answer after which it ends itself.' }),
  },
  { additionalProperties: false, title: 'RegisteredRunner' },
);
export type RegisteredRunnerDto = Static<typeof RegisteredRunnerDto>;

export const AnsweredOrdersDto = Type.Object(
  { orders: nullable(OrdersDto) },
  { additionalProperties: false, title: 'AnsweredOrders', description: '`orders` is null if the runner is to end.' },
);

export const RunnerEpochDto = Type.Object({ epoch: Epoch }, { additionalProperties: false, title: 'RunnerEpoch' });

export const RunnerSignalDto = Type.Object(
  { applied: Type.Boolean({ description: 'False if the epoch is outdated.' }) },
  { additionalProperties: false, title: 'RunnerSignal' },
);

export const DrainRunnerDto = Type.Object(
  { reason: line('Why it takes no more tasks.') },
  { additionalProperties: false, title: 'DrainRunner' },
);

export const AwaitOrdersDto = Type.Object(
  {
    epoch: Epoch,
    state: oneOf([...RUNNER_STATES], { description: 'Its state in the last orders.' }),
    ready: Type.Boolean(),
    draining: Type.Boolean(),
    peers: Type.Integer({ minimum: 0, description: 'Number of its peers in the last orders.' }),
    wait_secs: Type.Number({ minimum: 0, maximum: AGENT_WAIT_MAX_SECS }),
  },
  { additionalProperties: false, title: 'AwaitOrders' },
);
export type AwaitOrdersDto = Static<typeof AwaitOrdersDto>;

export const OrdersChangedDto = Type.Object(
  {
    changed: Type.Boolean({ description: 'Whether the orders are others than those of the request.' }),
    orders: nullable(OrdersDto),
  },
  {
    additionalProperties: false,
    title: 'OrdersChanged',
    description: '`orders` is null if they have not changed, or if the runner is to end.',
  },
);

export const ClaimRunnerTaskDto = Type.Object(
  {
    lease_secs: Type.Integer({ minimum: 5, maximum: 3600, description: 'Lease of the task without a heartbeat.' }),
    holder: line('Name of the worker; all calls about the task must include it.'),
  },
  { additionalProperties: false, title: 'ClaimRunnerTask' },
);

export function ordersToWire({ threshold, now, peers, ...orders }: Orders): OrdersDto {
  return {
    ...orders,
    peers: peers.map(({ id, number, epoch, instance_type, address }: GrantedRunner) => {
      return { id, number, epoch, instance_type, address };
    }),
    threshold: isoTime(threshold),
    now: isoTime(now),
  };
}
