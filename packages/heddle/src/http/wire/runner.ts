import { Type, type Static } from 'typebox';

import { USAGE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import type { Runner } from '@heddle/core/domain/runner/runner';
import { REQUEST_STATES, RUNNER_STATES } from '@heddle/core/domain/runner/state';
import { EXHAUSTIONS, type RequestWithRunners, type RunnerRequest } from '@heddle/core/pool/port/store';
import { isoTime, isoTimeOrNull, nullable, oneOf, Timestamp, Uuid } from './basics.ts';
import { DemandDto, demandToWire, RequirementsDto } from './requirements.ts';

export const WAIT_MAX_SECS = 60;
const EXPIRY_MAX_SECS = 30 * 86_400;
const NAME_CHARS_MAX = 200;

const Many = (description: string) => Type.Integer({ minimum: 0, description });

/** Shown in the console, and used to distinguish requests. */
const Label = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: NAME_CHARS_MAX,
    pattern: '^[^\\u0000-\\u001f\\u007f]*$',
    patternMeaning: 'string without control characters',
    description,
  });

export const UsageClassDto = oneOf([...USAGE_CLASSES]);

export const WantedDto = Type.Object(RequirementsDto.properties, {
  additionalProperties: false,
  title: 'NewDemand',
  description: 'Which runners, and how many.',
});

export const RunnerStateDto = oneOf([...RUNNER_STATES], { description: 'State of a runner.' });
export const RequestStateDto = oneOf([...REQUEST_STATES], { description: 'State of a request.' });

export const RunnerDto = Type.Object(
  {
    id: Uuid('The runner.'),
    number: Type.Integer({ description: 'Short, and unique in this system.' }),
    state: RunnerStateDto,
    resource_class: Type.String(),
    usage_class: UsageClassDto,
    instance_type: nullable(Type.String({ description: 'Null before it is launched.' })),
    cpu: Many('Virtual processors.'),
    memory_mib: Many('Memory, MiB.'),
    provider: Type.String({ description: 'What started it.' }),
    provider_id: nullable(Type.String({ description: 'Its id at the provider; null before it is launched.' })),
    request_id: nullable(Uuid('The request that claimed it.')),
    epoch: Many('Number of claims; signals of an earlier claim are rejected.'),
    uses: Many('Claims that it confirmed.'),
    until: nullable(Timestamp('When it terminates or is marked lost if nothing changes; null: never by itself')),
    created_at: Timestamp('When its launch was planned'),
    state_since: Timestamp('When it entered its state'),
    seen_at: nullable(Timestamp('Its last heartbeat')),
    address: nullable(Type.String({ description: 'Its location, as it reports it.' })),
    draining: Type.Boolean({ description: 'It accepts no more tasks and terminates when it is released.' }),
    reason: nullable(Type.String({ description: 'Why it terminated or will terminate.' })),
  },
  { additionalProperties: false, title: 'Runner' },
);
export type RunnerDto = Static<typeof RunnerDto>;

const requestFields = {
  id: Uuid('The request.'),
  state: RequestStateDto,
  requirements: DemandDto,
  tenant: Type.String({ description: 'Key for fair queuing.' }),
  source: oneOf(['task', 'holder'], { description: 'A task, or an external holder.' }),
  run: Type.String({ description: 'The id of the task, or the name of the holder.' }),
  task_name: nullable(Type.String({ description: 'Name of the task; null for a holder, and for a deleted task.' })),
  attempt: nullable(Type.Integer({ description: 'For a task.' })),
  kept: Many('For a hold that waits again because it lost runners: those that it still has.'),
  rank: Type.Integer({ description: 'Its position in the queue: lower ones are served first.' }),
  exhaustion: nullable(
    oneOf([...EXHAUSTIONS], {
      description:
        'Result of the last check: `global` (no runner is idle), `local` (no idle runner matches), `uncertain`.',
    }),
  ),
  reason: nullable(Type.String({ description: 'Why it ended, or why its last launch failed.' })),
  created_at: Timestamp('When it was created'),
  granted_at: nullable(Timestamp('When it was granted')),
  expires_at: nullable(Timestamp('When it ends if it is still waiting')),
};

export const PoolRequestDto = Type.Object(requestFields, { additionalProperties: false, title: 'PoolRequest' });
export type PoolRequestDto = Static<typeof PoolRequestDto>;

export const PoolRequestDetailDto = Type.Object(
  {
    ...requestFields,
    runners: Type.Array(RunnerDto, { description: 'The granted runners; while it waits, those that it keeps.' }),
  },
  { additionalProperties: false, title: 'PoolRequestDetail' },
);
export type PoolRequestDetailDto = Static<typeof PoolRequestDetailDto>;

export const HoldDto = Type.Object(
  {
    id: Type.Optional(Uuid('Id of the new request; a repeat with the same id has no further effect.')),
    requirements: WantedDto,
    holder: Type.Optional(Label('Display name of the holder.')),
    tenant: Type.Optional(Label('Key for fair queuing (default the holder).')),
    expires_secs: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: EXPIRY_MAX_SECS,
        description: 'When the request ends if it is still waiting (default never).',
      }),
    ),
    wait_secs: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: WAIT_MAX_SECS,
        default: 0,
        description: 'How long to wait for runners before the response. The request continues to wait afterward.',
      }),
    ),
  },
  { additionalProperties: false, title: 'Hold' },
);
export type HoldDto = Static<typeof HoldDto>;

/** Expiries at or beyond this time mean never. */
const NEVER_MS = Date.UTC(9999, 0, 1);

export function runnerToWire(runner: Runner): RunnerDto {
  const { id, number, state, resource_class, usage_class, cpu, memory_mib, provider, provider_id } = runner;
  const { request_id, epoch, uses, threshold, created_at, state_since, seen_at, address, draining, reason } = runner;
  return {
    id,
    number,
    state,
    resource_class,
    usage_class,
    instance_type: runner.instance_type === '' ? null : runner.instance_type,
    cpu,
    memory_mib,
    provider,
    provider_id,
    request_id,
    epoch,
    uses,
    until: state === 'terminated' || threshold >= NEVER_MS ? null : isoTime(threshold),
    created_at: isoTime(created_at),
    state_since: isoTime(state_since),
    seen_at: isoTimeOrNull(seen_at),
    address,
    draining,
    reason,
  };
}

/** @param names of tasks, by id */
export function requestToWire(request: RunnerRequest, names: ReadonlyMap<string, string>): PoolRequestDto {
  const { id, state, tenant, source, run, attempt, kept, rank, exhaustion, reason } = request;
  return {
    id,
    state,
    requirements: demandToWire(request),
    tenant,
    source,
    run,
    task_name: source === 'task' ? (names.get(run) ?? null) : null,
    attempt,
    kept,
    rank,
    exhaustion,
    reason,
    created_at: isoTime(request.created_at),
    granted_at: isoTimeOrNull(request.granted_at),
    expires_at: isoTimeOrNull(request.expires_at),
  };
}

export function requestDetailToWire(
  request: RequestWithRunners,
  names: ReadonlyMap<string, string>,
): PoolRequestDetailDto {
  return { ...requestToWire(request, names), runners: request.runners.map(runnerToWire) };
}
