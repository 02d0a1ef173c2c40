import { Type, type Static } from 'typebox';

import { oneOf } from './basics.ts';

export const HealthDto = Type.Object(
  {
    status: oneOf(['ok', 'degraded']),
    database: oneOf(['healthy', 'unhealthy']),
    pool_size: Type.Integer(),
    pool_idle: Type.Integer(),
    breaker: oneOf(['closed', 'open', 'half_open'], { description: 'The circuit breaker before the database.' }),
    version: Type.String(),
  },
  { additionalProperties: false, title: 'Health' },
);
export type HealthDto = Static<typeof HealthDto>;

export const LiveDto = Type.Object({ status: oneOf(['alive']) }, { additionalProperties: false, title: 'Live' });

export const ReadyDto = Type.Object({ status: oneOf(['ready']) }, { additionalProperties: false, title: 'Ready' });
export type ReadyDto = Static<typeof ReadyDto>;
