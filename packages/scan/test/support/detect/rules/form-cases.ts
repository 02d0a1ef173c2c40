import { withChecksum } from '@heddle/test-support/scan/with-checksum';
import { parse } from 'smol-toml';

import type { ChecksumName } from '../../../../src/detect/rules/checksum.ts';
import { type FormPart, formPattern, parseForm } from '../../../../src/detect/rules/form.ts';
import { builtinRuleTexts } from '../../../../src/detect/rules/builtin.ts';
import { numbers, type RuleCases } from './case-text.ts';

/** What a rule file says of a credential. */
interface Described {
  id: string;
  forms?: readonly string[];
  names?: readonly string[];
  checksum?: ChecksumName;
}

let made: ReadonlyMap<string, RuleCases> | undefined;

/** The cases of all rules that describe a credential by its forms, made from these at the first call. */
export function formCases(): ReadonlyMap<string, RuleCases> {
  return (made ??= makeCases());
}

function makeCases(): Map<string, RuleCases> {
  const rules = builtinRuleTexts().flatMap(({ toml }) => (parse(toml) as { rules?: Described[] }).rules ?? []);
  return new Map(rules.filter(({ forms }) => forms !== undefined).map((rule) => [rule.id, casesOf(rule)]));
}

function casesOf(rule: Described): RuleCases {
  const forms = rule.forms!.map(parseForm);
  const values = forms.map((form, at) => valueOf(rule, form, `${rule.id} ${at}`));
  const names = (rule.names ?? []).map((name) => name.replaceAll('-', '_'));
  const positive = names.length > 0 ? namedTexts(names, values) : plainTexts(values);
  const wrong = forms.flatMap((form, at) => wrongValues(rule, forms, form, values[at]!));
  const negative = names.length > 0 ? namedTexts(names.slice(0, 1), wrong) : plainTexts(wrong);
  const elsewhere = names.length > 0 ? unnamedTexts(names[0]!, values) : joinedTexts(forms, values);
  return { positive, negative: [...negative, ...elsewhere] };
}

/** Assignments in the forms in which people write them; each name and each value occurs. */
function namedTexts(names: readonly string[], values: readonly string[]): string[] {
  const pairs = Array.from({ length: Math.max(names.length, values.length) }, (_, at) => {
    return { name: names[at % names.length]!, value: values[at % values.length]! };
  });
  return pairs.flatMap(({ name, value }) => [
    `${name.toUpperCase()}_TOKEN=${value}\n`,
    `const ${name}_api_key = "${value}";`,
    `"${name}": {\n  "secret": "${value}"\n}`,
    `<${name}_token>${value}</${name}_token>`,
  ]);
}

function plainTexts(values: readonly string[]): string[] {
  return values.flatMap((value) => [`const client = connect("${value}");`, `  credential: ${value}\n`]);
}

/** Values without a name, or too far behind one, or of another kind. */
function unnamedTexts(name: string, values: readonly string[]): string[] {
  return values.flatMap((value) => [
    ...(/^[0-9a-z-]{1,64}$/i.test(value) ? [`${name}-client 0.4.2-${value}\n`] : []),
    ...(/^[0-9a-f]{32,128}$/i.test(value) ? [`Seen by ${name} last year\n${value}\n`] : []),
    `a value "${value}"`,
    `${name}_token: kept in the vault since last spring, and no longer in here;\n  other: "${value}"`,
  ]);
}

/** Values that are part of a longer word. */
function joinedTexts(forms: readonly FormPart[][], values: readonly string[]): string[] {
  const isWord = ([first]: FormPart[]): boolean =>
    first!.type === 'literal' ? /^\w/.test(first!.text) : !/\W/.test(first!.characters);
  return values.filter((_, at) => isWord(forms[at]!)).map((value) => `x${value}`);
}

/** Values that are too short, or placeholders, or whose checksum is wrong. */
function wrongValues(rule: Described, forms: readonly FormPart[][], form: FormPart[], value: string): string[] {
  const any = new RegExp(`(?<![\\w-])(?:${forms.map(formPattern).join('|')})`);
  const short = textOf(shortened(form), `${rule.id} short`);
  const placeholder = form.map((part) => (part.type === 'literal' ? part.text : 'x'.repeat(part.min))).join('');
  const broken = value.slice(0, -1) + (value.endsWith('0') ? '1' : '0');
  return [...[short, placeholder].filter((each) => !any.test(each)), ...(rule.checksum === undefined ? [] : [broken])];
}

/** The longest run loses half of its characters. */
function shortened(form: FormPart[]): FormPart[] {
  const longest = Math.max(...form.map((part) => (part.type === 'random' ? part.min : 0)));
  return form.map((part) =>
    part.type === 'random' && part.min === longest
      ? { ...part, min: Math.floor(longest / 2), max: Math.floor(longest / 2) }
      : part,
  );
}

/** A value with digits, as nearly all have, and with the right checksum. */
function valueOf(rule: Described, form: FormPart[], seed: string): string {
  for (let attempt = 0; ; attempt++) {
    const text = textOf(form, `${seed} ${attempt}`);
    const value = rule.checksum === undefined ? text : withChecksum(rule.checksum, text);
    if (/\d/.test(value) && /\D/.test(value)) return value;
    if (attempt > 100) return value;
  }
}

function textOf(form: readonly FormPart[], seed: string): string {
  const next = numbers(seed);
  return form
    .map((part) => {
      if (part.type === 'literal') return part.text;
      const characters = Array.from(part.characters).filter((each) => /\w/.test(each));
      const pool = characters.length > 0 ? characters : Array.from(part.characters);
      return Array.from({ length: part.min }, () => pool[next(pool.length)]!).join('');
    })
    .join('');
}
