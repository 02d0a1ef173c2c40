import type { Finding } from '../result.ts';
import type { TextSink } from '../report/report.ts';
import { BASELINE_VERSION } from './read-baseline.ts';

interface Listed {
  fingerprint: string;
  count: number;
  rule_id: string;
  path: string;
}

/** Collects the findings of a scan for a baseline: one entry per fingerprint, no secrets. */
export class BaselineCollector {
  readonly #listed = new Map<string, Listed>();

  add({ fingerprint, rule_id, path }: Finding): void {
    const listed = this.#listed.get(fingerprint);
    if (listed === undefined) this.#listed.set(fingerprint, { fingerprint, count: 1, rule_id, path });
    else listed.count += 1;
  }

  /** Distinct fingerprints. */
  get size(): number {
    return this.#listed.size;
  }

  /** Writes the baseline, one entry per line in a stable order, so that two versions can be compared with diff. */
  writeTo(sink: TextSink): void {
    const entries = [...this.#listed.values()].sort(
      (left, right) =>
        compare(left.path, right.path) ||
        compare(left.rule_id, right.rule_id) ||
        compare(left.fingerprint, right.fingerprint),
    );
    sink.write(`{\n  "heddle_baseline": ${BASELINE_VERSION},\n  "findings": [`);
    entries.forEach((entry, index) => sink.write(`${index === 0 ? '' : ','}\n    ${JSON.stringify(entry)}`));
    sink.write(`${entries.length === 0 ? '' : '\n  '}]\n}\n`);
  }
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
