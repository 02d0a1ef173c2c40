import { Type, type Static } from 'typebox';

import type { Requirements } from '../../domain/runner/requirements.ts';
import type { UsageClass } from '../../domain/runner/resource-class.ts';
import type { PoolPolicy } from '../../pool/context.ts';
import type { PoolClass, PoolStatus, Provisioned, Refreshed } from '../../pool/pool-port.ts';
import type { PoolSample } from '../../pool/port/history.ts';
import type { ClassCensus } from '../../pool/port/store.ts';
import { isoTime, isoTimeOrNull, nullable, Timestamp, Uuid } from './basics.ts';
import { DemandDto, demandToWire } from './requirements.ts';
import { UsageClassDto, WantedDto } from './runner.ts';

const Many = (description: string) => Type.Integer({ minimum: 0, description });
const Secs = (description: string) => Type.Number({ minimum: 0, description: `${description}, seconds.` });

export const ProvisionDto = Type.Object(
  {
    id: Type.Optional(Uuid('Made by the caller: a repeat with the same id launches nothing more.')),
    requirements: WantedDto,
  },
  { additionalProperties: false, title: 'Provision' },
);
export type ProvisionDto = Static<typeof ProvisionDto>;

export const ProvisionedDto = Type.Object(
  {
    runner_ids: Type.Array(Uuid('A runner that is to be launched; idle once it has come.')),
    left_out: Many('Runners that were asked for and will not be launched.'),
    reason: nullable(Type.String({ description: 'Why they are left out.' })),
  },
  { additionalProperties: false, title: 'Provisioned' },
);
export type ProvisionedDto = Static<typeof ProvisionedDto>;

export const RefreshedDto = Type.Object(
  {
    changes: Type.Array(Type.String(), { description: 'What was changed of what launches need, one line each.' }),
    ended: Many('Runners that were ended since their time was over.'),
    terminated: Many('Runners that the provider was told to end.'),
    orphans: Many('Instances without a runner that were ended.'),
    vanished: Many('Runners without an instance that were ended.'),
    offered: Many('Idle runners that the backend was told of again.'),
    failures: Type.Array(Type.String(), { description: 'What failed, each with its remedy; the rest was done.' }),
  },
  { additionalProperties: false, title: 'Refreshed' },
);
export type RefreshedDto = Static<typeof RefreshedDto>;

export const ResourceClassDto = Type.Object(
  {
    name: Type.String(),
    cpu: Many('Virtual processors; a runner of the class has exactly so many.'),
    memory_mib: Many('Least memory, MiB.'),
    min_idle: Type.Array(
      Type.Object({ usage_class: UsageClassDto, count: Many('So many.') }, { additionalProperties: false }),
      { description: 'How many stay idle now.' },
    ),
  },
  { additionalProperties: false, title: 'ResourceClass' },
);
export type ResourceClassDto = Static<typeof ResourceClassDto>;

const Counts = {
  created: Many('Runners that are being launched.'),
  idle: Many('Runners that wait for work.'),
  claimed: Many('Runners that were given work and have not begun.'),
  running: Many('Runners at work.'),
  waiting: Many('Runners that waiting requests ask for.'),
};

export const CensusDto = Type.Object(
  { resource_class: Type.String(), usage_class: UsageClassDto, ...Counts },
  { additionalProperties: false, title: 'PoolCensus' },
);
export type CensusDto = Static<typeof CensusDto>;

export const SampleDto = Type.Object(
  { at: Timestamp('When it was'), resource_class: Type.String(), usage_class: UsageClassDto, ...Counts },
  { additionalProperties: false, title: 'PoolSample' },
);
export type SampleDto = Static<typeof SampleDto>;

const MinIdleDto = Type.Object(
  {
    resource_class: Type.String(),
    usage_class: UsageClassDto,
    count: Many('So many stay idle.'),
    schedule: nullable(Type.String({ description: 'Cron expression of the minutes when it holds; null: always.' })),
    time_zone: Type.String(),
  },
  { additionalProperties: false },
);

const SettingsDto = Type.Object(
  {
    max_runners: Many('Most runners at once, all classes together.'),
    batch_max: Many('Most runners of one launch.'),
    launches_per_second: Type.Number({ description: 'All servers together, in the long run.' }),
    launch_burst: Many('Launches at once after a pause.'),
    max_uses: nullable(Many('Claims after which a runner ends; null: any number.')),
    min_idle: Type.Array(MinIdleDto),
    created_secs: Secs('From the plan of a launch to its success'),
    register_secs: Secs('From a launch to the first sign of life'),
    confirm_secs: Secs('From a claim to the agent’s word that it has begun'),
    claim_secs: Secs('Longest claim that has not begun'),
    idle_secs: Secs('How long a runner stays that nobody needs'),
    fresh_secs: Secs('Age of the last sign of life of a runner that may be claimed'),
    silent_secs: Secs('Without a sign of life a runner counts as silent after'),
    doubt_secs: Secs('Least time between the two looks that end a runner'),
    patience_secs: Secs('After so long at the head a request for several holds back those behind it'),
    keep_secs: Secs('How long what ended stays listed'),
  },
  { additionalProperties: false },
);

const PartDto = Type.Object(
  {
    name: Type.String(),
    succeeded_at: nullable(Timestamp('When it last did its work without failing')),
    error: nullable(Type.String({ description: 'What its last pass failed of.' })),
  },
  { additionalProperties: false },
);

const ObstacleDto = Type.Object(
  {
    requirements: nullable(Type.Omit(DemandDto, ['count'], { description: 'Null: it concerns all launches.' })),
    reason: Type.String({ description: 'One sentence with its remedy.' }),
    retry_at: nullable(Timestamp('When launches are tried again; null: when something changes')),
  },
  { additionalProperties: false },
);

export const PoolDto = Type.Object(
  {
    backend: Type.String({ description: 'Where idle runners are looked for.' }),
    provider: Type.String({ description: 'What this server starts runners with; `none` where others do.' }),
    census: Type.Array(CensusDto, { description: 'Classes that have runners or requests.' }),
    parts: Type.Array(PartDto, { description: 'What keeps the pool going, as this server runs it.' }),
    obstacles: Type.Array(ObstacleDto, { description: 'What holds back launches, as this server knows it.' }),
    settings: SettingsDto,
  },
  { additionalProperties: false, title: 'Pool' },
);
export type PoolDto = Static<typeof PoolDto>;

export function classToWire({ name, cpu, memory_mib, min_idle }: PoolClass): ResourceClassDto {
  const kept = min_idle.map(({ usage_class, count }) => ({ usage_class, count }));
  return { name, cpu, memory_mib, min_idle: kept };
}

export function sampleToWire({ at, ...counts }: PoolSample): SampleDto {
  return { at: isoTime(at), ...censusToWire(counts) };
}

function censusToWire(counts: ClassCensus): CensusDto {
  const { resource_class, usage_class, created, idle, claimed, running, waiting } = counts;
  return { resource_class, usage_class: usage_class as UsageClass, created, idle, claimed, running, waiting };
}

export function poolToWire(status: PoolStatus, census: readonly ClassCensus[]): PoolDto {
  const { backend, provider, parts, obstacles, policy } = status;
  return {
    backend,
    provider,
    census: census.map(censusToWire),
    parts: parts.map(({ name, succeeded_at, error }) => ({ name, succeeded_at: isoTimeOrNull(succeeded_at), error })),
    obstacles: obstacles.map(({ requirements, reason, retry_at }) => ({
      requirements: requirements === null ? null : requirementsToWire(requirements),
      reason,
      retry_at: isoTimeOrNull(retry_at),
    })),
    settings: { ...limitsToWire(policy), ...timesToWire(policy) },
  };
}

function requirementsToWire(requirements: Requirements): Omit<DemandDto, 'count'> {
  const { count: _count, ...wire } = demandToWire({ ...requirements, count: 1 });
  return wire;
}

function limitsToWire({ max_runners, batch_max, launch_rate, max_uses, min_idle }: PoolPolicy) {
  return {
    max_runners,
    batch_max,
    launches_per_second: launch_rate.per_second,
    launch_burst: launch_rate.burst,
    max_uses,
    min_idle: min_idle.map(({ resource_class, usage_class, count, schedule, time_zone }) => ({
      ...{ resource_class, usage_class, count, schedule, time_zone },
    })),
  };
}

function timesToWire({ times, keep_ms }: PoolPolicy) {
  return {
    created_secs: times.created_ms / 1_000,
    register_secs: times.register_ms / 1_000,
    confirm_secs: times.confirm_ms / 1_000,
    claim_secs: times.claim_ms / 1_000,
    idle_secs: times.idle_ms / 1_000,
    fresh_secs: times.fresh_ms / 1_000,
    silent_secs: times.silent_ms / 1_000,
    doubt_secs: times.doubt_ms / 1_000,
    patience_secs: times.patience_ms / 1_000,
    keep_secs: keep_ms / 1_000,
  };
}

export function provisionedToWire({ runner_ids, left_out, reason }: Provisioned): ProvisionedDto {
  return { runner_ids: [...runner_ids], left_out, reason };
}

export function refreshedToWire(refreshed: Refreshed): RefreshedDto {
  const { ended, terminated, orphans, vanished, offered } = refreshed;
  const counts = { ended, terminated, orphans, vanished, offered };
  return { changes: [...refreshed.changes], ...counts, failures: [...refreshed.failures] };
}
