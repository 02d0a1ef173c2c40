import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';

import { HeddleError, type ErrorCode } from '@heddle/base/errors';
import { MAX_DETAILS } from '@heddle/base/json/parse';
import { explainFaults, FaultList } from './explain.ts';

/** A compiled schema that can also explain its faults. */
export interface Checker<Schema extends TSchema> {
  fits(value: unknown): value is Static<Schema>;
  /** Adds the faults; never empty for an invalid value. */
  explain(value: unknown, path: string, into: FaultList): void;
}

const compiled = new WeakMap<TSchema, Checker<TSchema>>();

export function checkerOf<Schema extends TSchema>(schema: Schema): Checker<Schema> {
  const known = compiled.get(schema);
  if (known) return known;
  const validator = Compile(schema);
  const checker: Checker<Schema> = {
    fits: (value): value is Static<Schema> => validator.Check(value),
    explain(value, path, into) {
      const before = into.faults.length;
      explainFaults(schema, value, path, into);
      if (into.faults.length === before) into.add(path, 'does not match its schema, see /v1/openapi.json');
    },
  };
  compiled.set(schema, checker);
  return checker;
}

/** Returns the typed value, or throws the coded error with every fault. */
export function requireFit<Schema extends TSchema>(
  schema: Schema,
  value: unknown,
  path = '',
  code: ErrorCode = 'VALIDATION_FAILED',
): Static<Schema> {
  const checker = checkerOf(schema);
  if (checker.fits(value)) return value;
  const faults = new FaultList(MAX_DETAILS);
  if (value === undefined || value === null) faults.add(path, 'is required; send a JSON document');
  else checker.explain(value, path, faults);
  throw new HeddleError(code, undefined, { details: faults.faults });
}
