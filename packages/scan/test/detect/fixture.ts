import { compileRules } from '../../src/detect/compile-rules.ts';
import { createDetector } from '../../src/detect/detector.ts';
import type { Detection, Detector } from '../../src/detect/port.ts';
import type { DetectionOptions } from '../../src/options.ts';

/** Creates a detector for a rule set in a string; by default for the built-in rules. */
export function detectorOf(toml?: string, options: Partial<DetectionOptions> = {}): Detector {
  const rules = toml === undefined ? [] : [{ name: 'test.toml', toml }];
  const defaults: DetectionOptions = { rules, decode_depth: 2, inline_ignores: true, rule_timeout_ms: 60_000 };
  const all = { ...defaults, ...options };
  return createDetector(compileRules(all), all, { buffers_max: 1, buffer_bytes: 1024 * 1024 });
}

export interface Cut {
  /** Bytes of each chunk, without its overlap; default: all in one. */
  chunk_bytes?: number;
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
  const size = cut.chunk_bytes ?? Math.max(1, bytes.length);
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
