import { compileRules } from '../../../src/detect/compile-rules.ts';
import { createDetector } from '../../../src/detect/detector.ts';
import type { Detection, Detector } from '../../../src/detect/port.ts';
import { SCAN_DEFAULTS, type ScanOptions } from '../../../src/options.ts';

/** Creates a detector for a rule set in a string; by default for the built-in rules. */
export function detectorOf(toml?: string, options: Partial<ScanOptions> = {}): Detector {
  const rules = toml === undefined ? [] : [{ name: 'test.toml', toml }];
  const all = { ...SCAN_DEFAULTS, rules, ruleTimeoutMs: 60_000, ...options };
  return createDetector(compileRules(all), all, { buffers_max: 1, buffer_bytes: 1024 * 1024 });
}

export interface Cut {
  /** Bytes of each chunk, without its overlap; default: all in one. */
  chunkBytes?: number;
  path?: string;
  commit?: string;
  /** Scans from the detector's own memory. */
  allocated?: Uint8Array;
}

/** Scans a whole object in chunks of one size, each with the required overlap. */
export function scanObject(detector: Detector, content: Uint8Array | string, cut: Cut = {}): Detection[] {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const object = detector.begin(cut.path ?? 'src/app.ts', cut.commit);
  if (object === null) return [];
  const size = cut.chunkBytes ?? Math.max(1, bytes.length);
  const found: Detection[] = [];
  for (let at = 0; at < bytes.length || at === 0; at += size) {
    const from = Math.max(0, at - detector.overlap);
    const to = Math.min(bytes.length, at + size);
    const part = bytes.subarray(from, to);
    cut.allocated?.set(part);
    const chunk = { length: part.length, prefix_length: at - from, base_offset: from, last: to === bytes.length };
    found.push(...object.scan({ ...chunk, bytes: cut.allocated ?? part }));
  }
  return found;
}

/** Returns rule and secret of each detection. */
export function briefly(detections: readonly Detection[]): [string, string][] {
  return detections.map(({ rule_id, secret }) => [rule_id, secret]);
}
