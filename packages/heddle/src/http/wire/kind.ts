import { Type, type Static } from 'typebox';

import type { ListedKind } from '@heddle/core/engine/kinds/port';
import { Count, isoTimeOrNull, Metadata, nullable, Timestamp } from './basics.ts';

export const KindDto = Type.Object(
  {
    name: Type.String(),
    built_in: Type.Boolean({ description: 'Whether it comes with Heddle.' }),
    description: nullable(Type.String({ description: 'What it does.' })),
    input_schema: nullable(
      Metadata(
        'JSON Schema of its input; null if none of its workers has described it. Any member may be an expression.',
      ),
    ),
    workers: Count('Processes that claim its tasks or read its queue, seen within a minute.'),
    last_seen_at: nullable(Timestamp('When a worker of it was last seen; kept for a day')),
  },
  { additionalProperties: false, title: 'KindDto' },
);
export type KindDto = Static<typeof KindDto>;

export function kindToWire({ name, built_in, description, input_schema, workers, last_seen_at }: ListedKind): KindDto {
  return { name, built_in, description, input_schema, workers, last_seen_at: isoTimeOrNull(last_seen_at) };
}
