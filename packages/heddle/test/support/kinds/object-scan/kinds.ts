import { objectScanAggregator } from '../../../../src/kinds/object-scan/aggregator.ts';
import { objectScanGenerator } from '../../../../src/kinds/object-scan/generator.ts';
import { ScanRoots } from '../../../../src/kinds/object-scan/roots.ts';
import { objectScan } from '../../../../src/kinds/object-scan/scan.ts';
import type { KindDefinition } from '@heddle/kit';
import type { ScanBooks } from '@heddle/core/engine/port';
import { systemClock } from '@heddle/base/clock';
import { defaultsOf } from '@heddle/base/setting';
import { startScan } from '@heddle/scan/scan';
import { NO_PROXIES } from '@heddle/scan/outbound/proxies';
import { VERIFY_OPTIONS, type VerifyOptions } from '@heddle/scan/verify/options';

/** The three kinds, permitted to read `root`. */
export function scanKinds(root: string, books: ScanBooks | null, changes: Partial<VerifyOptions> = {}) {
  const verify = { ...defaultsOf(VERIFY_OPTIONS), environment: NO_PROXIES, ...changes };
  const roots = new ScanRoots([root]);
  const kinds = {
    generator: objectScanGenerator({ roots }) as KindDefinition,
    scan: objectScan({ startScan, roots, books, clock: systemClock, concurrency: 2, verify }) as KindDefinition,
  };
  const merging: KindDefinition[] = books === null ? [] : [objectScanAggregator({ books })];
  return { ...kinds, all: [kinds.generator, kinds.scan, ...merging] };
}
