import { USAGE_CLASSES, type UsageClass } from '@heddle/base/vocabulary/resource-class';
import type { Runner } from '../../domain/runner/runner.ts';
import { RUNNER_STATES } from '../../domain/runner/state.ts';
import type { RunnerRow } from '../../store/runners/reads.ts';

/** Database codes are indexes into the lists of names. */
export function usageOf(code: number): UsageClass {
  return USAGE_CLASSES[code]!;
}

export function runnerOfRow({ usage_class, state, ...row }: RunnerRow): Runner {
  return { ...row, usage_class: usageOf(usage_class), state: RUNNER_STATES[state]! };
}
