import type { Finding } from '../result.ts';
import { pathForms } from './path-forms.ts';

const FINGERPRINT = /^[0-9a-f]{32}$/i;
/** `file:rule:line` as gitleaks writes it, prefixed with a commit and a colon for findings of a history. */
const PLACE = /^.+:[^:\s]+:\d+$/;

/** Findings that are ignored, by fingerprint or by gitleaks location. */
export class IgnoreList {
  readonly #fingerprints = new Set<string>();
  readonly #places = new Set<string>();
  readonly #roots: readonly string[];

  /** @param roots the scanned directories, to which paths of other tools are relative */
  constructor(roots: readonly string[] = []) {
    this.#roots = roots;
  }

  /** Adds the lines of a file; returns a message for each line that is not understood. */
  addText(name: string, text: string): string[] {
    return text
      .replace(/^\ufeff/, '')
      .split(/\r?\n/)
      .flatMap((raw, index) => {
        const line = raw.replace(/(^|\s)#.*$/, '').trim();
        return line === '' || this.#add(line)
          ? []
          : [`${name}, line ${index + 1}: expected a fingerprint of 32 hexadecimal digits or FILE:RULE:LINE`];
      });
  }

  get isEmpty(): boolean {
    return this.#fingerprints.size === 0 && this.#places.size === 0;
  }

  has({ fingerprint, path, rule_id, line, commit }: Finding): boolean {
    if (this.#fingerprints.has(fingerprint)) return true;
    if (this.#places.size === 0) return false;
    return pathForms(path, this.#roots).some((form) => {
      const place = `${form}:${rule_id}:${line}`;
      return this.#places.has(place) || (commit !== undefined && this.#places.has(`${commit.id}:${place}`));
    });
  }

  #add(line: string): boolean {
    if (FINGERPRINT.test(line)) this.#fingerprints.add(line.toLowerCase());
    else if (PLACE.test(line)) this.#places.add(line);
    else return false;
    return true;
  }
}
