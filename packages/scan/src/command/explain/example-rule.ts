import { compileRules } from '../../detect/compile-rules.ts';
import { createDetector } from '../../detect/detector.ts';
import { nameBefore } from '../../detect/judge/names.ts';
import { SCAN_DEFAULTS } from '../../options.ts';

const VALUE = /[\w+/=.~-]{8,}/g;
const PREFIX = /^[A-Za-z]{2,10}[_-](?=[A-Za-z0-9])/;

/** Alphabets for patterns, the smallest first. */
const ALPHABETS = ['[0-9a-f]', '[0-9A-F]', '[A-Za-z0-9]', '[A-Za-z0-9_-]', '[A-Za-z0-9+/=]', '[\\w+/=.~-]'] as const;

/** Returns a rule that finds what looks most like a secret on a line; null if nothing does, or no rule would find it. */
export function exampleRule(text: string, path: string): string | null {
  const value = valueIn(text);
  if (value === null) return null;
  const prefix = isMixed(value.text) ? (PREFIX.exec(value.text)?.[0] ?? '') : '';
  const name = nameBefore(text.slice(0, value.at));
  if (prefix === '' && name === '') return null;
  const random = value.text.slice(prefix.length);
  const alphabet = ALPHABETS.find((each) => new RegExp(`^${each}+$`).test(random))!;
  const length = `{${random.length}}`;
  const pattern =
    prefix === ''
      ? `(?i:${escaped(name)})["']?\\s*(?:[:=]|=>)\\s*["']?(${alphabet}${length})`
      : `\\b(${escaped(prefix)}${alphabet}${length})`;
  const keyword = prefix === '' ? name : prefix;
  const toml = [
    '[extend]',
    'useDefault = true',
    '',
    '[[rules]]',
    `id = "our-${keyword
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')}"`,
    'description = "Found a secret of ours; revoke it and issue a new one."',
    `regex = '''${pattern}'''`,
    `keywords = ["${keyword.toLowerCase()}"]`,
  ].join('\n');
  return finds(toml, text, path, value.text) ? toml : null;
}

/** Returns the longest text with letters and digits, or what follows the last `=` or `:`. */
function valueIn(text: string): { text: string; at: number } | null {
  const runs = [...text.matchAll(VALUE)].map(({ 0: run, index }) => {
    const cut = /^[\w.-]{1,40}=(?=[^=])/.exec(run)?.[0].length ?? 0;
    return { text: run.slice(cut), at: index + cut };
  });
  const mixed = runs.filter((run) => run.text.length >= 8 && isMixed(run.text));
  const longest = mixed.toSorted((left, right) => right.text.length - left.text.length)[0];
  if (longest !== undefined) return longest;
  return runs.findLast(({ at, text: run }) => run.length >= 8 && /[:=]\s*["']?$/.test(text.slice(0, at))) ?? null;
}

function isMixed(run: string): boolean {
  return /\d/.test(run) && /[A-Za-z]/.test(run);
}

function escaped(literal: string): string {
  return literal.replaceAll(/[.$+]/g, '\\$&');
}

/** Tries the rule on the line, without the other rules. */
function finds(toml: string, text: string, path: string, secret: string): boolean {
  const own = toml.replace('useDefault = true', 'useDefault = false');
  const bytes = Buffer.from(`${text}\n`);
  const options = { ...SCAN_DEFAULTS, contextLines: 0 };
  const rules = compileRules({ rules: [{ name: 'example', toml: own }] });
  const detector = createDetector(rules, options, { buffers_max: 0, buffer_bytes: 0 });
  const object = detector.begin(path);
  const chunk = { bytes, length: bytes.length, prefix_length: 0, base_offset: 0, last: true };
  return object !== null && object.scan(chunk).some((each) => each.secret === secret);
}
