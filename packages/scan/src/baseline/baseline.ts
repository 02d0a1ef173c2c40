import { createHash } from 'node:crypto';

import type { Finding } from '../result.ts';
import { pathForms } from './path-forms.ts';

/**
 * Identifies a finding of a baseline: by fingerprint; by secret and path, whatever the rule is called; or, if the
 * secret is unknown, by rule, path and line.
 */
export type BaselineEntry =
  | { by: 'fingerprint'; fingerprint: string; count: number }
  | { by: 'secret'; path: string; secret: string; count: number }
  | { by: 'place'; path: string; rule_id: string; line: number; count: number };

/** Known findings. Each entry matches as often as it is listed: one more finding of the kind is new. */
export class Baseline {
  readonly #left = new Map<string, number>();
  readonly #roots: readonly string[];
  #known = 0;
  #gone = 0;

  /** @param roots the scanned directories, to which paths of other tools are relative */
  constructor(entries: Iterable<BaselineEntry>, roots: readonly string[] = []) {
    this.#roots = roots;
    for (const entry of entries) {
      const key = keyOf(entry);
      this.#left.set(key, (this.#left.get(key) ?? 0) + entry.count);
      this.#gone += entry.count;
    }
  }

  /** Returns whether the finding is known, and consumes one of the matching entries. */
  take(finding: Finding): boolean {
    const key = keysOf(finding, this.#roots).find((each) => (this.#left.get(each) ?? 0) > 0);
    if (key === undefined) return false;
    this.#left.set(key, this.#left.get(key)! - 1);
    this.#known += 1;
    this.#gone -= 1;
    return true;
  }

  /** Counts the entries that were matched and those that were not. */
  get counts(): { known: number; gone: number } {
    return { known: this.#known, gone: this.#gone };
  }
}

function keyOf(entry: BaselineEntry): string {
  switch (entry.by) {
    case 'fingerprint':
      return `f:${entry.fingerprint}`;
    case 'secret':
      return secretKey(entry.path, entry.secret);
    case 'place':
      return placeKey(entry.path, entry.rule_id, entry.line);
  }
}

function keysOf({ fingerprint, path, secret, rule_id, line }: Finding, roots: readonly string[]): string[] {
  const forms = pathForms(path, roots);
  return [
    `f:${fingerprint}`,
    ...forms.map((form) => secretKey(form, secret)),
    ...forms.map((form) => placeKey(form, rule_id, line)),
  ];
}

/** Hashed, so that memory holds no secrets longer than necessary. */
function secretKey(path: string, secret: string): string {
  return `s:${createHash('sha256').update(`${path}\0${secret}`).digest('base64')}`;
}

function placeKey(path: string, ruleId: string, line: number): string {
  return `p:${ruleId}\0${path}\0${line}`;
}
