import { Type, type Static } from 'typebox';

import { CPU_MAX, MEMORY_MIB_MAX, PATTERNS_MAX, RUNNERS_MAX, type Demand } from '../../domain/runner/requirements.ts';
import { USAGE_CLASSES } from '../../domain/runner/resource-class.ts';
import { nullable, oneOf } from './basics.ts';

const ResourceClass = Type.String({ minLength: 1, maxLength: 64, description: 'Size of the runner.' });
const UsageClass = (options: Record<string, unknown>) => oneOf([...USAGE_CLASSES], options);
const Patterns = Type.Array(Type.String(), {
  maxItems: PATTERNS_MAX,
  description: 'Types of runner that will do, `*` for any text; none: any type of the class.',
});
const Cpu = Type.Integer({ minimum: 1, maximum: CPU_MAX, description: 'Least processors.' });
const Memory = Type.Integer({ minimum: 1, maximum: MEMORY_MIB_MAX, description: 'Least memory, MiB.' });

/** What it may be is said where it is read. */
const MemoryAmount = Type.Unsafe<string | number | null>({
  description: 'The same with a unit, such as `4GiB`, or as a whole number of MiB; one of the two.',
  examples: ['4GiB'],
});

/** What a task asks of the runners that it is to have to itself. */
export const RequirementsDto = Type.Object(
  {
    resource_class: ResourceClass,
    usage_class: Type.Optional(
      UsageClass({ default: 'on-demand', description: 'Spot runners may be taken away at any moment.' }),
    ),
    allowed_instance_types: Type.Optional(Patterns),
    cpu: Type.Optional(nullable(Cpu)),
    memory_mib: Type.Optional(nullable(Memory)),
    memory: Type.Optional(MemoryAmount),
    count: Type.Optional(
      Type.Integer({ minimum: 1, maximum: RUNNERS_MAX, default: 1, description: 'Runners wanted together.' }),
    ),
  },
  {
    additionalProperties: false,
    title: 'NewRequirements',
    description:
      'The task runs on a runner of its own: it waits until the pool has given it one. Not beside `on_start`.',
  },
);
export type RequirementsDto = Static<typeof RequirementsDto>;

/** As they are shown: with what was left out. */
export const DemandDto = Type.Object(
  {
    resource_class: ResourceClass,
    usage_class: UsageClass({}),
    allowed_instance_types: Patterns,
    cpu: nullable(Cpu),
    memory_mib: nullable(Memory),
    count: Type.Integer(),
  },
  { additionalProperties: false, title: 'Requirements' },
);
export type DemandDto = Static<typeof DemandDto>;

export function demandToWire(demand: Demand): DemandDto {
  const { resource_class, usage_class, allowed_instance_types, cpu, memory_mib, count } = demand;
  return { resource_class, usage_class, allowed_instance_types: [...allowed_instance_types], cpu, memory_mib, count };
}
