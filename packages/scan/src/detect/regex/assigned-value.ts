import { sequence } from '@heddle/base/regex/ast';
import { spanOf } from './analyse.ts';
import { FILTER_SPAN_MAX } from './anchor.ts';
import type { RegexNode } from './ast.ts';
import { addSet, type ByteSet, bytesOf, emptySet, intersects } from './byte-set.ts';
import { toJavaScript } from './translate.ts';

/** What a byte is to a value. */
const OTHER = 0;
const PART = 1;
const END = 2;

/** A pattern that ends with a group of one set, repeated, perhaps after a byte of another set, and one byte that both lack. */
interface AssignmentForm {
  lead: RegexNode;
  value: ValueForm;
  end: ByteSet;
  /** That byte, or the end of the text. */
  last: RegexNode;
}

export interface ValueForm {
  first: ByteSet;
  rest: ByteSet;
  min: number;
  max: number;
}

/**
 * Locates the value in the matches of a pattern like `token = (\w{10,200})[\s;]`: after what leads to it, the bytes alone
 * say where it ends. The preferred way to match the lead gives the preferred match, if a value follows there.
 */
export class AssignedValue {
  readonly #lead: RegExp;
  readonly #kinds = new Uint8Array(256).fill(OTHER);
  readonly #min: number;
  readonly #max: number;
  /** Where the value that was found last begins and ends; the match ends one byte later. */
  start = 0;
  end = 0;

  constructor({ lead, value, end }: AssignmentForm) {
    const first: RegexNode = { type: 'set', set: value.first };
    this.#lead = new RegExp(`${toJavaScript(lead, false)}(?=${toJavaScript(first)})`, 'y');
    for (const byte of bytesOf(value.rest)) this.#kinds[byte] = PART;
    for (const byte of bytesOf(end)) this.#kinds[byte] = END;
    this.#min = value.min;
    this.#max = value.max;
  }

  /**
   * Returns whether a match begins at `at` whose value is found so; without one, there may be another match.
   * @param text as latin1, with at least `FILTER_SPAN_MAX` bytes from `at` on, or up to the end of the bytes
   * @param shift added to an offset in the text, yields that in `bytes`, which end at `stop`
   */
  find(text: string, at: number, { bytes, shift, stop }: { bytes: Uint8Array; shift: number; stop: number }): boolean {
    const lead = this.#lead;
    lead.lastIndex = at;
    if (!lead.test(text)) return false;
    const start = lead.lastIndex + shift;
    const kinds = this.#kinds;
    let end = start + 1;
    while (end < stop && kinds[bytes[end]!] === PART) end++;
    if (end >= stop || kinds[bytes[end]!] !== END || end - start < this.#min || end - start > this.#max) return false;
    this.start = start;
    this.end = end;
    return true;
  }
}

/** Returns null for a pattern of another form, or whose value is not in the group. */
export function assignedValue(node: RegexNode, group: number): AssignedValue | null {
  const form = formOf(node, group);
  return form === null || spanOf(form.lead).max >= FILTER_SPAN_MAX ? null : new AssignedValue(form);
}

/** Returns the pattern with another value: what `of` makes of its form; null for a pattern of another form. */
export function withValue(node: RegexNode, group: number, of: (form: ValueForm) => RegexNode): RegexNode | null {
  const form = formOf(node, group);
  return form === null ? null : sequence([form.lead, of(form.value), form.last]);
}

function formOf(node: RegexNode, group: number): AssignmentForm | null {
  if (node.type !== 'sequence') return null;
  const [captured, last] = node.parts.slice(-2);
  if (captured?.type !== 'capture' || captured.group !== group) return null;
  const value = valueFormOf(captured.node);
  const end = endOf(last!);
  if (value === null || end === null || intersects(value.first, end) || intersects(value.rest, end)) return null;
  return { lead: sequence(node.parts.slice(0, -2)), value, end, last: last! };
}

function valueFormOf(node: RegexNode): ValueForm | null {
  if (node.type === 'repeat') {
    const { node: letter, min, max, lazy } = node;
    return letter.type !== 'set' || lazy || min === 0 ? null : { first: letter.set, rest: letter.set, min, max };
  }
  if (node.type !== 'sequence' || node.parts.length !== 2) return null;
  const [first, repeat] = node.parts;
  if (first?.type !== 'set' || repeat?.type !== 'repeat') return null;
  const { node: letter, min, max, lazy } = repeat;
  return letter.type !== 'set' || lazy ? null : { first: first.set, rest: letter.set, min: min + 1, max: max + 1 };
}

/** Returns the bytes that end a value: those of a set, or of branches beside the end of the text. */
function endOf(node: RegexNode): ByteSet | null {
  if (node.type === 'set') return node.set;
  if (node.type !== 'choice') return null;
  const end = emptySet();
  for (const branch of node.branches) {
    if (branch.type === 'set') addSet(end, branch.set);
    else if (branch.type !== 'assertion' || branch.kind !== 'text_end') return null;
  }
  return end;
}
