import { isUtf8 } from 'node:buffer';

import { HeddleError } from '../errors.ts';
import { describeFaults, inspectValue } from './inspect.ts';
import { locateTextFaults, positionOfSyntaxError } from './locate.ts';
import { scanJson, type JsonScan, type ScanLimits } from './scan.ts';

/** Maximum nesting of a request; deeper documents are rejected before anything walks them. */
export const MAX_JSON_DEPTH = 64;
/** Maximum faults per answer. */
export const MAX_DETAILS = 100;

/**
 * Parses a request body more strictly than JSON.parse: no duplicate or dangerous member names, bounded depth, and
 * nothing that would be stored differently. Throws MALFORMED_BODY (not JSON) or VALIDATION_FAILED, naming each field.
 *
 * @param rootPath start of paths: `tasks` for an array of them, empty for an object
 * @param depthMax maximum nesting of the document
 * @param limits limits of its content; checked before any value is built
 * @param numbers beyond the safe range: those written as floats, or so that no digit is lost, may be among `floats`
 */
export function parseStrictJson(
  bytes: Buffer,
  rootPath: string,
  depthMax = MAX_JSON_DEPTH,
  limits: ScanLimits = {},
  numbers: 'safe' | 'floats' = 'safe',
): unknown {
  if (bytes.length === 0) throw malformed('body: is empty; send a JSON document');
  if (!isUtf8(bytes)) throw malformed('body: is not valid UTF-8; encode it as UTF-8');
  const scan = scanJson(bytes, reachableLimits(bytes.length, limits));
  if (scan.exceeded !== null) throw tooMuch(scan.exceeded, limits, rootPath);
  const text = bytes.toString('utf8');
  if (scan.depth > depthMax) {
    const { tooDeep } = locateTextFaults(text, rootPath, depthMax, 0);
    const path = tooDeep === null || tooDeep === '' ? 'body' : cut(tooDeep);
    throw refused([`${path}: is nested deeper than ${depthMax} levels; flatten it`]);
  }
  const value = parse(text);
  const isFine = (inspected: unknown): boolean => {
    const inspection = inspectValue(inspected, scan.hasUnicodeEscape);
    return !inspection.faulty && inspection.members === scan.members;
  };
  if (isFine(value)) return value;
  const judged = numbers === 'floats' ? withoutFloats(text) : value;
  if (judged !== value && isFine(judged)) return value;
  const { duplicates } = locateTextFaults(text, rootPath, depthMax, MAX_DETAILS);
  throw refused([
    ...duplicates.map((path) => `${path}: is given more than once in its object; keep one`),
    ...describeFaults(judged, rootPath, MAX_DETAILS),
  ]);
}

/** The shortest member with a name of its own, such as `"":1`. */
const MEMBER_BYTES_MIN = 4;

/** Omits the limit of names from a text too short to exceed it: to count names takes a table, larger than most texts. */
function reachableLimits(bytes: number, limits: ScanLimits): ScanLimits {
  const { names = Infinity } = limits;
  return bytes >= names * MEMBER_BYTES_MIN ? limits : { ...limits, names: Infinity };
}

/** Declares the third argument of JSON.parse's reviver, which not every version of Node's types has. */
type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Returns the value with null in place of each number that loses nothing: a float is rounded wherever it is read. */
function withoutFloats(text: string): unknown {
  const reviver: Reviver = (_key, value, { source = '' }) =>
    typeof value === 'number' && Number.isFinite(value) && (/[.eE]/.test(source) || String(value) === source)
      ? null
      : value;
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown) as unknown;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const { line, column } = positionOfSyntaxError(text);
    throw malformed(`body: is not valid JSON at line ${line}, column ${column}`);
  }
}

function tooMuch(exceeded: NonNullable<JsonScan['exceeded']>, limits: ScanLimits, rootPath: string): HeddleError {
  const most = limits[exceeded]!;
  if (exceeded === 'outermost')
    return refused([`${rootPath || 'body'}: must have at most ${most} elements; send them in several requests`]);
  const what = exceeded === 'values' ? 'values' : 'different names of members';
  return refused([`body: must hold at most ${most} ${what}; send it in several requests`]);
}

const PATH_SHOWN = 160;

function cut(path: string): string {
  return path.length > PATH_SHOWN ? `${path.slice(0, PATH_SHOWN)}…` : path;
}

function malformed(detail: string): HeddleError {
  return new HeddleError('MALFORMED_BODY', undefined, { details: [detail] });
}

function refused(details: string[]): HeddleError {
  return new HeddleError('VALIDATION_FAILED', undefined, { details: details.slice(0, MAX_DETAILS) });
}
