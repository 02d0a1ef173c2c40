import { Type, type Static } from 'typebox';

import { CPU_MAX, MEMORY_MIB_MAX, PATTERNS_MAX, RUNNERS_MAX, type Demand } from '@heddle/base/vocabulary/requirements';
import { USAGE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import { nullable, oneOf } from './basics.ts';

const ResourceClass = Type.String({ minLength: 1, maxLength: 64, description: 'Size of the runner.' });
const UsageClass = (options: Record<string, unknown>) => oneOf([...USAGE_CLASSES], options);
const Patterns = Type.Array(Type.String(), {
  maxItems: PATTERNS_MAX,
  description: 'Acceptable instance types, `*` as a wildcard; empty: any type of the class.',
});
const Cpu = Type.Integer({ minimum: 1, maximum: CPU_MAX, description: 'Minimum CPUs.' });
const Memory = Type.Integer({ minimum: 1, maximum: MEMORY_MIB_MAX, description: 'Minimum memory, MiB.' });

/** Its reader describes the allowed values. */
const MemoryAmount = Type.Unsafe<string | number | null>({
  description:
    'Minimum memory with a unit, such as `4GiB`, or as a whole number of MiB; exclusive with the other member.',
  examples: ['4GiB'],
});

/** Requirements of a task for its own runners. */
export const RequirementsDto = Type.Object(
  {
    resource_class: ResourceClass,
    usage_class: Type.Optional(
      UsageClass({ default: 'on-demand', description: 'Spot runners may be interrupted at any time.' }),
    ),
    allowed_instance_types: Type.Optional(Patterns),
    cpu: Type.Optional(nullable(Cpu)),
    memory_mib: Type.Optional(nullable(Memory)),
    memory: Type.Optional(MemoryAmount),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: RUNNERS_MAX,
        default: 1,
        description: 'Number of runners, granted together.',
      }),
    ),
  },
  {
    additionalProperties: false,
    title: 'NewRequirements',
    description:
      'The task runs on a runner of its own: it waits until the pool grants one. Not allowed together with `on_start`.',
  },
);
export type RequirementsDto = Static<typeof RequirementsDto>;

/** As readers see them, including defaults. */
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
