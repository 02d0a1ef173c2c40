import { Type, type Static } from 'typebox';

import type { RetryPolicy } from '@heddle/base/vocabulary/task';

export const RetryDto = Type.Object(
  {
    max_attempts: Type.Integer({ minimum: 1, maximum: 100, description: 'Maximum attempts, including the first.' }),
    backoff_secs: Type.Optional(
      Type.Number({ minimum: 0, maximum: 86_400, default: 1, description: 'Wait before the first retry.' }),
    ),
    factor: Type.Optional(
      Type.Number({ minimum: 1, maximum: 100, default: 2, description: 'Factor by which each wait grows.' }),
    ),
    max_backoff_secs: Type.Optional(
      Type.Number({ minimum: 0, maximum: 86_400, default: 300, description: 'Longest wait.' }),
    ),
    jitter: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        default: 0.5,
        description: '0: exact waits; 1: each wait is random between zero and its full length.',
      }),
    ),
  },
  { additionalProperties: false, title: 'RetryPolicy', description: 'Retry policy of a failed task.' },
);
export type RetryDto = Static<typeof RetryDto>;

export function retryFromWire(dto: RetryDto): RetryPolicy {
  return {
    max_attempts: dto.max_attempts,
    base_ms: Math.round((dto.backoff_secs ?? 1) * 1000),
    factor: dto.factor ?? 2,
    max_ms: Math.round((dto.max_backoff_secs ?? 300) * 1000),
    jitter: dto.jitter ?? 0.5,
  };
}

export function retryToWire(policy: RetryPolicy): Required<RetryDto> {
  return {
    max_attempts: policy.max_attempts,
    backoff_secs: policy.base_ms / 1000,
    factor: policy.factor,
    max_backoff_secs: policy.max_ms / 1000,
    jitter: policy.jitter,
  };
}
