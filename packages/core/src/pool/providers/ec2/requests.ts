import { createHash } from 'node:crypto';

import type {
  CreateFleetCommandInput,
  FleetLaunchTemplateOverridesRequest,
  InstanceRequirementsRequest,
  RunInstancesCommandInput,
  _InstanceType,
} from '@aws-sdk/client-ec2';

import { allowsType } from '../../../domain/runner/classify.ts';
import { LaunchFailure, type LaunchBatch } from '../../port/provider.ts';
import type { Ec2Settings, Ec2Template } from './settings.ts';
import { tagsOf } from './tags.ts';

/** Maximum number of overrides in a fleet request. */
const OVERRIDES_MAX = 300;
const PATTERNS_MAX = 400;

/**
 * Returns the configured instance types of the class that the requirements allow; empty if EC2 chooses.
 *
 * @throws LaunchFailure if types are configured for the class and the requirements allow none of them
 */
export function typesOf(settings: Ec2Settings, { requirements }: LaunchBatch): string[] {
  const { resource_class, allowed_instance_types: patterns } = requirements;
  const named = settings.instance_types[resource_class] ?? [];
  const allowed = named.filter((type) => allowsType(patterns, type));
  if (named.length > 0 && allowed.length === 0) {
    const names = `HEDDLE_POOL_EC2_INSTANCE_TYPES names ${named.join(', ')} for the class ${resource_class}`;
    const remedy = 'allow one of them, or add a type that is allowed';
    throw new LaunchFailure('refused', `${names}, and the request allows only ${patterns.join(', ')}; ${remedy}`);
  }
  return allowed;
}

/** Builds the request for one instance of one type. */
export function runInstancesInput(
  settings: Ec2Settings,
  template: Ec2Template,
  batch: LaunchBatch,
  instanceType: string,
): RunInstancesCommandInput {
  const subnet = subnetOf(settings, batch);
  const input: RunInstancesCommandInput = {
    MinCount: 1,
    MaxCount: 1,
    ClientToken: batch.id,
    LaunchTemplate: { ...reference(template), Version: template.version },
    InstanceType: instanceType as _InstanceType,
    TagSpecifications: tagsOf(settings.pool, batch.id, batch.runner_ids[0]!),
  };
  if (subnet !== null) input.SubnetId = subnet;
  if (batch.requirements.usage_class === 'spot') {
    input.InstanceMarketOptions = {
      MarketType: 'spot',
      SpotOptions: { SpotInstanceType: 'one-time', InstanceInterruptionBehavior: 'terminate' },
    };
  }
  return input;
}

/** Builds the request for a whole batch, as an instant fleet. */
export function createFleetInput(
  settings: Ec2Settings,
  template: Ec2Template,
  batch: LaunchBatch,
): CreateFleetCommandInput {
  const spot = batch.requirements.usage_class === 'spot';
  return {
    Type: 'instant',
    ClientToken: batch.id,
    LaunchTemplateConfigs: [
      {
        LaunchTemplateSpecification: { ...reference(template), Version: template.version },
        Overrides: overridesOf(settings, batch),
      },
    ],
    TargetCapacitySpecification: {
      TotalTargetCapacity: batch.runner_ids.length,
      DefaultTargetCapacityType: spot ? 'spot' : 'on-demand',
    },
    ...(spot
      ? { SpotOptions: { AllocationStrategy: 'price-capacity-optimized', InstanceInterruptionBehavior: 'terminate' } }
      : { OnDemandOptions: { AllocationStrategy: isRanked(settings, batch) ? 'prioritized' : 'lowest-price' } }),
    TagSpecifications: tagsOf(settings.pool, batch.id, batch.runner_ids.length === 1 ? batch.runner_ids[0]! : null),
  };
}

/** Whether the operator configured types, in order of preference. */
function isRanked(settings: Ec2Settings, batch: LaunchBatch): boolean {
  return typesOf(settings, batch).length > 0;
}

/** Returns one override per subnet and configured type. */
function overridesOf(settings: Ec2Settings, batch: LaunchBatch): FleetLaunchTemplateOverridesRequest[] {
  const types = typesOf(settings, batch);
  const places: readonly (string | null)[] = settings.subnet_ids.length === 0 ? [null] : settings.subnet_ids;
  const kinds: FleetLaunchTemplateOverridesRequest[] =
    types.length > 0
      ? types.map((type, at) => ({ InstanceType: type as _InstanceType, Priority: at }))
      : [{ InstanceRequirements: requirementsOf(batch) }];
  return places
    .flatMap((place) => kinds.map((kind) => (place === null ? kind : { ...kind, SubnetId: place })))
    .slice(0, OVERRIDES_MAX);
}

/** Requires exactly the processors of the class, at least its memory, and the allowed types. */
function requirementsOf({ cpu, memory_mib, requirements }: LaunchBatch): InstanceRequirementsRequest {
  const allowed = requirements.allowed_instance_types;
  return {
    VCpuCount: { Min: cpu, Max: cpu },
    MemoryMiB: { Min: memory_mib },
    ...(allowed.length > 0 ? { AllowedInstanceTypes: allowed.slice(0, PATTERNS_MAX) } : {}),
  };
}

/** Spreads batches over the subnets; every try of a batch uses the same subnet. */
function subnetOf({ subnet_ids }: Ec2Settings, { id }: LaunchBatch): string | null {
  if (subnet_ids.length === 0) return null;
  return subnet_ids[createHash('sha256').update(id).digest().readUInt32BE() % subnet_ids.length]!;
}

function reference({ id }: Ec2Template): { LaunchTemplateId: string } | { LaunchTemplateName: string } {
  return id.startsWith('lt-') ? { LaunchTemplateId: id } : { LaunchTemplateName: id };
}
