import type { TObject } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { isStorable } from '@heddle/base/json/inspect';
import { FaultList, type WireSchema } from './explain.ts';
import { checkerOf } from './check.ts';

/**
 * Reads a query string by its schema: converts numbers and booleans, and rejects unknown or repeated parameters. Throws
 * INVALID_QUERY, naming each parameter.
 */
export function readQuery(schema: TObject, given: unknown): Record<string, unknown> {
  const faults = new FaultList(20);
  const values: Record<string, unknown> = {};
  for (const [name, raw] of Object.entries(given as Record<string, unknown>)) {
    if (Array.isArray(raw)) faults.add(name, 'is given more than once; give it once');
    else if (typeof raw !== 'string' || !isStorable(raw))
      faults.add(name, 'contains characters that cannot be stored; remove them');
    else if (name === '__proto__' || name === 'constructor') faults.add(name, 'is not a known parameter');
    else values[name] = converted((schema.properties as Record<string, WireSchema>)[name], raw);
  }
  const checker = checkerOf(schema);
  if (!checker.fits(values)) checker.explain(values, '', faults);
  if (faults.faults.length > 0) throw new HeddleError('INVALID_QUERY', undefined, { details: faults.faults });
  return values;
}

function converted(schema: WireSchema | undefined, raw: string): unknown {
  switch (schema?.type) {
    case 'integer':
    case 'number':
      return /^-?\d{1,20}(\.\d{1,20})?$/.test(raw) ? Number(raw) : raw;
    case 'boolean':
      return raw === 'true' ? true : raw === 'false' ? false : raw;
    case undefined:
    default:
      return raw;
  }
}
