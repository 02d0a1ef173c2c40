/**
 * A value that users set, declared once: flag, environment variable, parsing, default, error messages, help and
 * documentation derive from it.
 */
export interface Setting<T> {
  /** The environment variable, which is also the name in the configuration file; else the flag. */
  readonly name: string;
  /** Older names that are still accepted. */
  readonly aliases: readonly string[];
  /** As the help of a command shows it: `--port <port>`. Null if no command has one for it. */
  readonly flag: string | null;
  readonly description: string;
  readonly fallback: T;
  /** The default as the documentation shows it. */
  readonly fallbackText: string;
  /** What is allowed, as the end of a sentence: `must be …`. */
  readonly allowed: string;
  /** The allowed words, if there are only a few. */
  readonly words?: readonly string[];
  readonly secret: boolean;
  /** Returns null if the string is not allowed. */
  parse(text: string): { value: T } | null;
  /** The value for display, without secrets. */
  show(value: T): string;
}

/** The values of a group of settings, by key. */
export type ValuesOf<Group> = { readonly [Key in keyof Group]: Group[Key] extends Setting<infer T> ? T : never };

export type Declaration<T> = ({ name: string; flag?: string } | { name?: never; flag: string }) & {
  aliases?: readonly string[];
  fallback: T;
  fallbackText?: string;
  description: string;
};

export interface Range {
  min: number;
  max: number;
}

/** Returns the default of each setting of a group. */
export function defaultsOf<Group extends Readonly<Record<string, Setting<unknown>>>>(group: Group): ValuesOf<Group> {
  return Object.fromEntries(Object.entries(group).map(([key, { fallback }]) => [key, fallback])) as ValuesOf<Group>;
}

export const REDACTED = '[redacted]';

export function setting<T>(
  declaration: Declaration<T>,
  type: Pick<Setting<T>, 'allowed' | 'words' | 'parse' | 'show'> & { secret?: boolean },
): Setting<T> {
  const { flag = null, aliases = [], description, fallback } = declaration;
  const name = declaration.name ?? longFlag(declaration.flag);
  const fallbackText = declaration.fallbackText ?? type.show(fallback);
  return { name, aliases, flag, description, fallback, fallbackText, secret: false, ...type };
}

/** Returns `--null` of `-0, --null`, and `--git` of `--git <repository>`. */
function longFlag(flag: string): string {
  return /--[a-z0-9-]+/.exec(flag)![0];
}

/** Null is a value only if there is no default. */
type NumberOr<Fallback> = Fallback extends null ? number | null : number;

/** A number within a range. */
function number<Fallback extends number | null>(
  declaration: Declaration<Fallback> & Range,
  type: { allowed: string; read: (text: string) => number; show?: (value: number) => string },
): Setting<NumberOr<Fallback>> & Range {
  const { min, max } = declaration;
  const { allowed, read, show = String } = type;
  const parse = (text: string): { value: number } | null => {
    const value = read(text.trim());
    return value >= min && value <= max ? { value } : null;
  };
  const shown = (value: number | null): string => (value === null ? '' : show(value));
  const declared = setting<number | null>(declaration, { allowed, parse, show: shown });
  return { min, max, ...(declared as Setting<NumberOr<Fallback>>) };
}

/** A whole number; thousands may be written as `10k`. */
export function integer<Fallback extends number | null>(
  declaration: Declaration<Fallback> & Range,
): Setting<NumberOr<Fallback>> & Range {
  return number(declaration, {
    allowed: `a whole number between ${declaration.min} and ${declaration.max}`,
    read: (text) => {
      const [, digits, thousands] = /^(\d{1,15})(k?)$/i.exec(text) ?? [];
      return digits === undefined ? Number.NaN : Number(digits) * (thousands === '' ? 1 : 1000);
    },
  });
}

const K = 1024;
const BYTES: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: K,
  kib: K,
  kb: 1e3,
  m: K ** 2,
  mib: K ** 2,
  mb: 1e6,
  g: K ** 3,
  gib: K ** 3,
  gb: 1e9,
  t: K ** 4,
  tib: K ** 4,
  tb: 1e12,
};

/** A size with or without a unit: letters alone and those with `i` are powers of 1024, `kB` of 1000. */
export function bytes(declaration: Declaration<number> & Range): Setting<number> & Range {
  const { min, max } = declaration;
  return number(declaration, {
    allowed: `a size between ${sizeText(min)} and ${sizeText(max)}, such as 4096, 10k or 1.5GiB`,
    read: (text) => {
      const [, figure, unit = ''] = /^(\d{1,16}(?:\.\d{1,6})?)\s*([a-z]{0,3})$/i.exec(text) ?? [];
      return Math.round(Number(figure) * (BYTES[unit.toLowerCase()] ?? Number.NaN));
    },
    show: sizeText,
  });
}

/** Returns `512k` for 524288. */
function sizeText(value: number): string {
  const unit = ['t', 'g', 'm', 'k'].find((each) => value >= BYTES[each]! && value % BYTES[each]! === 0) ?? '';
  return `${value / BYTES[unit]!}${unit}`;
}

const MS: Readonly<Record<string, number>> = { '': 1, ms: 1, s: 1000, m: 60_000 };

/** Milliseconds, with or without a unit. */
export function duration<Fallback extends number | null>(
  declaration: Declaration<Fallback> & Range,
): Setting<NumberOr<Fallback>> & Range {
  const { min, max } = declaration;
  return number(declaration, {
    allowed: `a duration between ${min}ms and ${max / 1000}s, such as 500ms or 2s`,
    read: (text) => {
      const [, figure, unit = ''] = /^(\d{1,9})\s*(ms|s|m|)$/i.exec(text) ?? [];
      return Number(figure) * MS[unit.toLowerCase()]!;
    },
    show: (value) => (value % 1000 === 0 ? `${value / 1000}s` : `${value}ms`),
  });
}

/** A duration given in seconds, fractions allowed; the value is milliseconds. */
export function seconds(declaration: Declaration<number> & Range): Setting<number> & Range {
  const { min, max } = declaration;
  return number(declaration, {
    allowed: `a number of seconds between ${min / 1_000} and ${max / 1_000}, such as 5 or 0.5`,
    read: (text) => (/^\d{1,12}(\.\d{1,3})?$/.test(text) ? Math.round(Number(text) * 1_000) : Number.NaN),
    show: (value) => String(value / 1_000),
  });
}

/** A ratio between 0 and 1. */
export function ratio(declaration: Declaration<number>): Setting<number> & Range {
  return number(
    { ...declaration, min: 0, max: 1 },
    {
      allowed: 'a number between 0.0 and 1.0',
      read: (text) => (/^(\d+(\.\d*)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN),
      show: (value) => (Number.isInteger(value) ? value.toFixed(1) : String(value)),
    },
  );
}

const NOT_EMPTY = 'a string that is not empty';

const SWITCH_WORDS: Readonly<Record<string, boolean>> = {
  '1': true,
  true: true,
  on: true,
  yes: true,
  '0': false,
  false: false,
  off: false,
  no: false,
};

export function onOff(declaration: Declaration<boolean>): Setting<boolean> {
  return setting(declaration, {
    allowed: '1 or 0 (or true, false, on, off)',
    parse: (text) => {
      const value = SWITCH_WORDS[text.toLowerCase()];
      return value === undefined ? null : { value };
    },
    show: (value) => (value ? '1' : '0'),
  });
}

/** One of a few words; null if there is no default. */
export function choice<Word extends string>(declaration: Declaration<Word> & { words: readonly Word[] }): Setting<Word>;
export function choice<Word extends string>(
  declaration: Declaration<null> & { words: readonly Word[] },
): Setting<Word | null>;
export function choice<Word extends string>(
  declaration: Declaration<Word | null> & { words: readonly Word[] },
): Setting<Word | null> {
  const { words } = declaration;
  return setting<Word | null>(declaration, {
    words,
    allowed: `one of ${words.join(', ')}`,
    parse: (text) => {
      const value = words.find((word) => word === text.toLowerCase());
      return value === undefined ? null : { value };
    },
    show: (value) => value ?? '',
  });
}

export function text(declaration: Declaration<string>): Setting<string> {
  return setting(declaration, {
    allowed: NOT_EMPTY,
    parse: (given) => (given === '' ? null : { value: given }),
    show: (value) => value,
  });
}

/** A flag without a value: it turns its setting on, or off if it begins with `--no-`. */
export function toggle(flag: string, description: string): Setting<boolean> {
  return onOff({ flag, description, fallback: flag.startsWith('--no-') });
}

/** A string; null if none is given. `form` limits it further. */
export function optionalText(
  flag: string,
  description: string,
  form: { allowed: string; check: (given: string) => boolean } = { allowed: NOT_EMPTY, check: () => true },
): Setting<string | null> {
  const parse = (given: string): { value: string } | null =>
    given !== '' && form.check(given) ? { value: given } : null;
  const type = { allowed: form.allowed, parse, show: (value: string | null) => value ?? '' };
  return setting<string | null>({ flag, description, fallback: null }, type);
}

/** Strings: one for each use of the flag. */
export function repeated(flag: string, description: string): Setting<readonly string[]> {
  return setting<readonly string[]>(
    { flag, description, fallback: [] },
    {
      allowed: NOT_EMPTY,
      parse: (given) => (given === '' ? null : { value: [given] }),
      show: (value) => value.join(' '),
    },
  );
}

/** A string of a certain form; empty if none is set. */
export function checkedText(
  declaration: Declaration<string> & {
    allowed: string;
    check: (given: string) => boolean;
    show?: (value: string) => string;
    /** Hidden from faults and listings. */
    secret?: boolean;
  },
): Setting<string> {
  const { allowed, check, secret = false } = declaration;
  const { show = (value: string) => (secret ? REDACTED : value) } = declaration;
  return setting(declaration, {
    allowed,
    secret,
    parse: (given) => (check(given) ? { value: given } : null),
    show: (value) => (value === '' ? '' : show(value)),
  });
}

interface ListOptions {
  /** Returns the item as it is stored; null if it is not allowed. */
  item?: (text: string) => string | null;
  allowed?: string;
  /** Hides the items from faults and listings. */
  secret?: boolean;
  separator?: string | RegExp;
}

/** A comma-separated list. */
export function list(declaration: Declaration<readonly string[]> & ListOptions): Setting<readonly string[]> {
  const {
    item = (given: string) => given,
    allowed = 'a comma-separated list',
    secret = false,
    separator,
  } = declaration;
  return setting(declaration, {
    allowed,
    secret,
    parse: (given) => {
      const items = itemsOf(given, separator).map(item);
      return items.includes(null) ? null : { value: items as string[] };
    },
    show: (value) => (secret ? value.map(() => REDACTED) : value).join(','),
  });
}

export function itemsOf(given: string, separator: string | RegExp = ','): string[] {
  return given
    .split(separator)
    .map((each) => each.trim())
    .filter((each) => each !== '');
}
