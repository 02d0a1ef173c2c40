import { Type, type Static } from 'typebox';

import { USAGE_CLASSES } from '../../domain/runner/resource-class.ts';
import type { Runner } from '../../domain/runner/runner.ts';
import { REQUEST_STATES, RUNNER_STATES } from '../../domain/runner/state.ts';
import { EXHAUSTIONS, type RequestWithRunners, type RunnerRequest } from '../../pool/port/store.ts';
import { isoTime, isoTimeOrNull, nullable, oneOf, Timestamp, Uuid } from './basics.ts';
import { DemandDto, demandToWire, RequirementsDto } from './requirements.ts';

export const WAIT_MAX_SECS = 60;
const EXPIRY_MAX_SECS = 30 * 86_400;
const NAME_CHARS_MAX = 200;

const Many = (description: string) => Type.Integer({ minimum: 0, description });

/** Shown to people, and part of what requests are told apart by. */
const Label = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: NAME_CHARS_MAX,
    pattern: '^[^\\u0000-\\u001f\\u007f]*$',
    patternMeaning: 'text without control characters',
    description,
  });

export const UsageClassDto = oneOf([...USAGE_CLASSES]);

export const WantedDto = Type.Object(RequirementsDto.properties, {
  additionalProperties: false,
  title: 'NewDemand',
  description: 'Which runners, and how many.',
});

export const RunnerStateDto = oneOf([...RUNNER_STATES], { description: 'What becomes of a runner.' });
export const RequestStateDto = oneOf([...REQUEST_STATES], { description: 'What becomes of a request.' });

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
    provider_id: nullable(Type.String({ description: 'What the provider calls it; null before it is launched.' })),
    request_id: nullable(Uuid('What it was claimed for.')),
    epoch: Many('How often it was claimed; signals of an earlier claim are refused.'),
    uses: Many('Claims that it confirmed.'),
    until: nullable(Timestamp('When it ends or is given up, should nothing change; null: never by itself')),
    created_at: Timestamp('When its launch was planned'),
    state_since: Timestamp('Since when it is in its state'),
    seen_at: nullable(Timestamp('Its last sign of life')),
    address: nullable(Type.String({ description: 'Where it is, as it says.' })),
    draining: Type.Boolean({ description: 'It takes nothing more and ends when it is released.' }),
    reason: nullable(Type.String({ description: 'Why it ended, or is about to.' })),
  },
  { additionalProperties: false, title: 'Runner' },
);
export type RunnerDto = Static<typeof RunnerDto>;

const requestFields = {
  id: Uuid('The request.'),
  state: RequestStateDto,
  requirements: DemandDto,
  tenant: Type.String({ description: 'Whom turns are fair to.' }),
  source: oneOf(['task', 'holder'], { description: 'A task, or somebody outside.' }),
  run: Type.String({ description: 'The id of the task; of a holder what it calls itself.' }),
  attempt: nullable(Type.Integer({ description: 'Of a task.' })),
  kept: Many('Of a hold that waits again since it lost runners: those that it still has.'),
  rank: Type.Integer({ description: 'Its turn: lower ones are served first.' }),
  exhaustion: nullable(
    oneOf([...EXHAUSTIONS], {
      description: 'Of the last look: `global` (nobody is idle), `local` (those that are do not fit), `uncertain`.',
    }),
  ),
  reason: nullable(Type.String({ description: 'Why it ended, or what its last launch failed of.' })),
  created_at: Timestamp('When it was made'),
  granted_at: nullable(Timestamp('When it got its runners')),
  expires_at: nullable(Timestamp('When it ends if it still waits then')),
};

export const PoolRequestDto = Type.Object(requestFields, { additionalProperties: false, title: 'PoolRequest' });
export type PoolRequestDto = Static<typeof PoolRequestDto>;

export const PoolRequestDetailDto = Type.Object(
  {
    ...requestFields,
    runners: Type.Array(RunnerDto, { description: 'Those that it has; while it waits those that it keeps.' }),
  },
  { additionalProperties: false, title: 'PoolRequestDetail' },
);
export type PoolRequestDetailDto = Static<typeof PoolRequestDetailDto>;

export const HoldDto = Type.Object(
  {
    id: Type.Optional(Uuid('Of the request to be: a repeat with the same id asks for nothing more.')),
    requirements: WantedDto,
    holder: Type.Optional(Label('Who holds the runners, for people.')),
    tenant: Type.Optional(Label('Whom turns are to be fair to; the holder where absent.')),
    expires_secs: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: EXPIRY_MAX_SECS,
        description: 'It ends where it still waits then; it waits for as long as it takes where absent.',
      }),
    ),
    wait_secs: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: WAIT_MAX_SECS,
        default: 0,
        description: 'How long the answer may take while there are no runners. The request waits on after it.',
      }),
    ),
  },
  { additionalProperties: false, title: 'Hold' },
);
export type HoldDto = Static<typeof HoldDto>;

/** What ends then or later has no end by itself. */
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

export function requestToWire(request: RunnerRequest): PoolRequestDto {
  const { id, state, tenant, source, run, attempt, kept, rank, exhaustion, reason } = request;
  return {
    id,
    state,
    requirements: demandToWire(request),
    tenant,
    source,
    run,
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

export function requestDetailToWire(request: RequestWithRunners): PoolRequestDetailDto {
  return { ...requestToWire(request), runners: request.runners.map(runnerToWire) };
}
