import { HeddleError } from '@heddle/base/errors';

/** One entry of a list with its position: `targets[3]`, `hosts.txt:12`. */
export interface LocatedText {
  readonly text: string;
  readonly place: string;
}

const FAULTS_REPORTED_MAX = 10;

/** Yields the entries of a file: one or more per line, separated by commas or blanks; `#` starts a comment. */
export function* linesOf(content: string, name: string): Generator<LocatedText> {
  let line = 0;
  for (const text of eachLine(content)) {
    line += 1;
    for (const entry of entriesOf(text)) yield { text: entry, place: `${name}:${line}` };
  }
}

/**
 * Yields the entries of arguments or of a JSON array; each element may hold several, like a line.
 *
 * @param name name of the list in faults: `targets` gives `targets[3]`
 */
export function* placed(texts: Iterable<string | LocatedText>, name: string): Generator<LocatedText> {
  let index = 0;
  for (const each of texts) {
    const { text, place } = typeof each === 'string' ? { text: each, place: `${name}[${index}]` } : each;
    index += 1;
    for (const entry of entriesOf(text)) yield { text: entry, place };
  }
}

/** Collects the faults of a list, so that one error names several. */
export class Faults {
  readonly #details: string[] = [];
  #count = 0;

  add({ text, place }: LocatedText, fault: string): void {
    this.#count += 1;
    if (this.#details.length < FAULTS_REPORTED_MAX) this.#details.push(`${place}: ${shown(text)} ${fault}`);
  }

  /** @throws HeddleError with the faults, if there are any */
  throwIfAny(): void {
    if (this.#count === 0) return;
    const more = this.#count - this.#details.length;
    const details = more === 0 ? this.#details : [...this.#details, `and ${more} more`];
    throw new HeddleError('VALIDATION_FAILED', details.join('\n  '), { details });
  }
}

/** Quotes untrusted text for a message: bounded, and without terminal control characters. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text).replace(
    /[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function* eachLine(content: string): Generator<string> {
  for (let from = 0; from < content.length;) {
    const end = content.indexOf('\n', from);
    yield content.slice(from, end < 0 ? content.length : end);
    if (end < 0) return;
    from = end + 1;
  }
}

function entriesOf(line: string): string[] {
  // A comment mark starts a word, unlike the fragment of a URL.
  const [text = ''] = line.replace(/^\ufeff/, '').split(/(?:^|\s)#/, 1);
  return text.split(/[\s,]+/).filter((entry) => entry !== '');
}
