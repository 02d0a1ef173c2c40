import type { SettingKey, SettingValues } from './settings.ts';

type NumberKey = { [Key in SettingKey]: SettingValues[Key] extends number ? Key : never }[SettingKey];

/** `low` times `factor` is at most `high`. A limit is never raised to fit what it limits. */
interface Order {
  readonly low: NumberKey;
  readonly high: NumberKey;
  readonly factor?: number;
  readonly isLimit?: boolean;
}

const ORDERS: readonly Order[] = [
  { low: 'poolMinIdle', high: 'poolMaxSize', isLimit: true },
  { low: 'paginationDefault', high: 'paginationMax', isLimit: true },
  { low: 'runnerBatchMax', high: 'runnerLaunchBurst' },
  { low: 'runnerHeartbeatMs', high: 'runnerHeartbeatMaxAgeMs', factor: 2 },
  { low: 'runnerHeartbeatMaxAgeMs', high: 'runnerHeartbeatTimeoutMs' },
  { low: 'runnerHeartbeatMs', high: 'runnerConfirmTimeoutMs' },
  { low: 'runnerConfirmTimeoutMs', high: 'runnerClaimTimeoutMs' },
];

/**
 * Fits defaults to the given values, so that one setting alone never contradicts the default of another. Given values
 * are never changed: contradictions among them are reported by the checks that name them.
 */
export function fitDefaults(values: SettingValues, given: ReadonlyMap<SettingKey, unknown>): SettingValues {
  const fitted: Record<NumberKey, number> & SettingValues = { ...values };
  const fixed = new Set(given.keys());
  // An adjusted default is final, and may adjust the next one of its chain.
  for (const _ of ORDERS) {
    for (const { low, high, factor = 1, isLimit = false } of ORDERS) {
      if (fitted[low] * factor <= fitted[high]) continue;
      if (!fixed.has(low)) {
        fitted[low] = Math.floor(fitted[high] / factor);
        fixed.add(low);
      } else if (!fixed.has(high) && !isLimit) {
        fitted[high] = fitted[low] * factor;
        fixed.add(high);
      }
    }
  }
  return fitted;
}
