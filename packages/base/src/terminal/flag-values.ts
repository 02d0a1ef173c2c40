import { InvalidArgumentError } from 'commander';

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1024,
  kib: 1024,
  kb: 1000,
  m: 1024 ** 2,
  mib: 1024 ** 2,
  mb: 1000 ** 2,
  g: 1024 ** 3,
  gib: 1024 ** 3,
  gb: 1000 ** 3,
  t: 1024 ** 4,
  tib: 1024 ** 4,
  tb: 1000 ** 4,
};

/**
 * Parses a size within bounds: `4096`, `10k`, `1.5GiB`. Letters alone and those with `i` are powers of 1024, `kB` of
 * 1000.
 */
export function byteSize(min: number, max: number): (text: string) => number {
  return (text) => {
    const [, figure, unit] = /^(\d{1,16}(?:\.\d{1,6})?)\s*([a-z]{0,3})$/i.exec(text.trim()) ?? [];
    const factor = UNITS[unit?.toLowerCase() ?? 'none'];
    if (figure === undefined || factor === undefined) {
      throw new InvalidArgumentError('It must be a number of bytes, optionally with a unit: 4096, 10k, 4MiB, 2g.');
    }
    const bytes = Math.round(Number(figure) * factor);
    if (bytes >= min && bytes <= max) return bytes;
    throw new InvalidArgumentError(`It must be a size from ${sizeText(min)} to ${sizeText(max)}.`);
  };
}

function sizeText(bytes: number): string {
  const unit = (['t', 'g', 'm', 'k'] as const).find((each) => bytes >= UNITS[each]! && bytes % UNITS[each]! === 0);
  return unit === undefined ? String(bytes) : `${bytes / UNITS[unit]!}${unit}`;
}

/** Parses a whole number within bounds; thousands may be written as `10k`. */
export function amount(min: number, max: number): (text: string) => number {
  return (text) => {
    const [, figure, thousands] = /^(\d{1,12})(k?)$/i.exec(text.trim()) ?? [];
    const value = figure === undefined ? Number.NaN : Number(figure) * (thousands === '' ? 1 : 1000);
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

const MS: Readonly<Record<string, number>> = { '': 1, ms: 1, s: 1000, m: 60_000 };

/** Parses a duration in milliseconds: `500ms`, `2s`, `1m`. */
export function milliseconds(min: number, max: number): (text: string) => number {
  return (text) => {
    const [, figure, unit] = /^(\d{1,9})\s*(ms|s|m|)$/i.exec(text.trim()) ?? [];
    const value = figure === undefined ? Number.NaN : Number(figure) * MS[unit!.toLowerCase()]!;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a duration from ${min}ms to ${max / 1000}s, such as 500ms or 2s.`);
  };
}

/** Parses a string that must not be empty. */
export function nonEmpty(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It must not be empty.');
}

/** Collects the values of an option that may be repeated. */
export function repeated(text: string, before: readonly string[] = []): string[] {
  return [...before, nonEmpty(text)];
}

/** Parses an http or https URL. */
export function endpoint(text: string): string {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return text;
  throw new InvalidArgumentError('It must be an http or https address such as http://127.0.0.1:9000.');
}
