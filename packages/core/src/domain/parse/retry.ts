import type { JsonObject } from '@heddle/base/json';
import type { RetryPolicy } from '@heddle/base/vocabulary/task';
import { isObject, shown } from '@heddle/base/parse/faults';
import { Members } from '@heddle/base/parse/members';

const RETRY_MEMBERS = ['max_attempts', 'backoff_secs', 'factor', 'max_backoff_secs', 'jitter'] as const;
const BACKOFF_MAX_SECS = 86_400;
const ATTEMPTS_MAX = 100;
const FACTOR_MAX = 100;

/** Reads the member `retry` of a task; null if absent. */
export function readRetry(task: Members): RetryPolicy | null {
  const value = task.raw('retry');
  if (value === undefined || value === null) return null;
  if (!isObject(value)) {
    task.fault('retry', `must be an object, not ${shown(value)}`);
    return null;
  }
  const retry = new Members(value, task.at('retry'), task.faults);
  retry.refuseOthers(RETRY_MEMBERS);
  retry.requireAll('max_attempts');
  return {
    max_attempts: retry.integer('max_attempts', 1, ATTEMPTS_MAX) ?? 1,
    base_ms: Math.round((retry.number('backoff_secs', 0, BACKOFF_MAX_SECS) ?? 1) * 1000),
    factor: retry.number('factor', 1, FACTOR_MAX) ?? 2,
    max_ms: Math.round((retry.number('max_backoff_secs', 0, BACKOFF_MAX_SECS) ?? 300) * 1000),
    jitter: retry.number('jitter', 0, 1) ?? 0.5,
  };
}

export function encodeRetry(policy: RetryPolicy): JsonObject {
  return {
    max_attempts: policy.max_attempts,
    backoff_secs: policy.base_ms / 1000,
    factor: policy.factor,
    max_backoff_secs: policy.max_ms / 1000,
    jitter: policy.jitter,
  };
}
