import { storableText, type SkippedTarget } from './task-result.ts';

const REPORTED_MAX = 50;
const REASON_CHARACTERS_MAX = 500;

/** Targets that a scan left out: all counted, the first ones listed. */
export class SkippedTargets {
  readonly first: SkippedTarget[] = [];
  count = 0;
  /** Names without an address, which have nothing to scan. */
  unresolved = 0;

  add(target: string, reason: string): void {
    this.count += 1;
    if (this.first.length >= REPORTED_MAX) return;
    this.first.push({ target: storableText(target), reason: storableText(reason).slice(0, REASON_CHARACTERS_MAX) });
  }
}
