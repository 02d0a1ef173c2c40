import { objectScanAggregator } from '../../../src/kinds/object-scan/aggregator.ts';
import { objectScanGenerator } from '../../../src/kinds/object-scan/generator.ts';
import { ScanRoots } from '../../../src/kinds/object-scan/roots.ts';
import { objectScan } from '../../../src/kinds/object-scan/scan.ts';
import type { KindDefinition } from '../../../src/kinds/definition/define-kind.ts';
import type { ScanBooks } from '../../../src/engine/port.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { startScan } from '../../../src/scan/scan.ts';

/** The three kinds, permitted to read `root`. */
export function scanKinds(root: string, books: ScanBooks | null) {
  const roots = new ScanRoots([root]);
  const kinds = {
    generator: objectScanGenerator({ roots }) as KindDefinition,
    scan: objectScan({ startScan, roots, books, clock: systemClock, concurrency: 2 }) as KindDefinition,
  };
  const merging: KindDefinition[] = books === null ? [] : [objectScanAggregator({ books })];
  return { ...kinds, all: [kinds.generator, kinds.scan, ...merging] };
}
