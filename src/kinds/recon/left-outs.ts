import { storableText, type LeftOut } from './task-result.ts';

const TOLD_MAX = 50;
const REASON_CHARACTERS_MAX = 500;

/** What a scan was to look at and did not: all counted, the first ones by name. */
export class LeftOuts {
  readonly first: LeftOut[] = [];
  count = 0;
  /** Names without an address: nothing is there that could be looked at. */
  unresolved = 0;

  add(target: string, reason: string): void {
    this.count += 1;
    if (this.first.length >= TOLD_MAX) return;
    this.first.push({ target: storableText(target), reason: storableText(reason).slice(0, REASON_CHARACTERS_MAX) });
  }
}
