import { Type, type Static } from 'typebox';

import { PATTERNS_MAX, RUNNERS_MAX, type Demand } from '../../domain/runner/requirements.ts';
import { USAGE_CLASSES } from '../../domain/runner/resource-class.ts';
import { nullable, oneOf } from './basics.ts';

const ResourceClass = Type.String({ minLength: 1, maxLength: 64, description: 'Size of the runner.' });
const UsageClass = (options: Record<string, unknown>) => oneOf([...USAGE_CLASSES], options);
const Patterns = Type.Array(Type.String(), {
  maxItems: PATTERNS_MAX,
  description: 'Types of runner that will do, `*` for any text; none: any type of the class.',
});
const Cpu = Type.Integer({ minimum: 1, maximum: 4_096, description: 'Least processors.' });
const Memory = Type.Integer({ minimum: 1, maximum: 67_108_864, description: 'Least memory, MiB.' });

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
