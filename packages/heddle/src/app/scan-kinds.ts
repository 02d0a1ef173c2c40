import type { ScanBooks } from '@heddle/core/engine/port';
import { objectScanAggregator } from '../kinds/object-scan/aggregator.ts';
import { objectScanGenerator } from '../kinds/object-scan/generator.ts';
import { ScanRoots } from '../kinds/object-scan/roots.ts';
import { objectScan } from '../kinds/object-scan/scan.ts';
import type { KindDefinition } from '@heddle/kit';
import type { Clock } from '@heddle/base/clock';
import { startScan } from '@heddle/scan/scan';
import { defaultsOf } from '@heddle/base/setting';
import { NO_PROXIES } from '@heddle/scan/outbound/proxies';
import { VERIFY_OPTIONS, type VerifyOptions } from '@heddle/scan/verify/options';
import type { SettingValues } from './settings.ts';

export interface ScanKindsOptions {
  settings: SettingValues;
  /** Null for a worker without a database. */
  books: ScanBooks | null;
  clock: Clock;
}

/**
 * Returns the kinds of a server: the scanning kinds unless they are left to workers, and the merging kind.
 * @param defaultRoot what may be scanned if the settings name nothing
 */
export function serverScanKinds(
  options: ScanKindsOptions & { books: ScanBooks; defaultRoot: string | null },
): KindDefinition[] {
  const { settings, books, defaultRoot } = options;
  const roots = settings.scanRoots.length === 0 && defaultRoot !== null ? [defaultRoot] : settings.scanRoots;
  const merging: KindDefinition[] = [objectScanAggregator({ books })];
  return settings.scanInServer ? [...scanningKinds(options, roots), ...merging] : merging;
}

/** Returns the kinds of a worker; merging needs a database. */
export function workerScanKinds(options: ScanKindsOptions): KindDefinition[] {
  const { settings, books } = options;
  const merging: KindDefinition[] = books === null ? [] : [objectScanAggregator({ books })];
  return [...scanningKinds(options, settings.scanRoots), ...merging];
}

function verifyOptionsOf({ verifyRate, verifyEndpoints, verifyAllow, verifyProxy }: SettingValues): VerifyOptions {
  return {
    ...defaultsOf(VERIFY_OPTIONS),
    ratePerSecond: verifyRate,
    endpoints: verifyEndpoints.flatMap((each) => VERIFY_OPTIONS.endpoints.parse(each)?.value ?? []),
    allow: verifyAllow,
    proxy: verifyProxy === '' ? null : verifyProxy,
    environment: NO_PROXIES,
  };
}

function scanningKinds({ settings, books, clock }: ScanKindsOptions, entries: readonly string[]): KindDefinition[] {
  const roots = new ScanRoots(entries);
  const concurrency = settings.scanConcurrency;
  return [
    objectScanGenerator({ roots }),
    objectScan({ startScan, roots, books, clock, concurrency, verify: verifyOptionsOf(settings) }),
  ];
}
