import { Environment } from '@marcbachmann/cel-js';

import type { Meter } from './meter.ts';

/** Maximum nodes in the syntax tree of one expression. */
const NODES_MAX = 1000;
/** Maximum nesting of brackets, calls and selections. */
const DEPTH_MAX = 60;
const LITERALS_MAX = 500;
const ARGUMENTS_MAX = 16;

const TIMESTAMP = 'google.protobuf.Timestamp';
const DURATION = 'google.protobuf.Duration';

/** JSON numbers are doubles and literals in expressions often ints, so arithmetic mixes them. */
const MIXED_ARITHMETIC: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
};

const base = makeBase();

/**
 * Creates Heddle's dialect of CEL: with optional values, literals of mixed types, and JSON numbers.
 * @param variables names that expressions may use
 * @param open whether other names are allowed too, to be looked up on evaluation
 */
export function makeEnvironment(variables: readonly string[], open: boolean, meter: Meter): Environment {
  const environment = base.clone({ unlistedVariablesAreDyn: open });
  for (const name of variables) environment.registerVariable(name, 'dyn');
  environment.registerFunction(
    'string.matches_pattern(string): bool',
    (text: string, pattern: string) => meter.matches(text, pattern),
    { async: false },
  );
  return environment;
}

function makeBase(): Environment {
  const environment = new Environment({
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: {
      maxAstNodes: NODES_MAX,
      maxDepth: DEPTH_MAX,
      maxListElements: LITERALS_MAX,
      maxMapEntries: LITERALS_MAX,
      maxCallArguments: ARGUMENTS_MAX,
    },
  });
  for (const [operator, compute] of Object.entries(MIXED_ARITHMETIC)) {
    const mixed = (left: number | bigint, right: number | bigint): number => compute(Number(left), Number(right));
    environment.registerOperator(`double ${operator} int: double`, mixed);
    environment.registerOperator(`int ${operator} double: double`, mixed);
  }
  environment.registerOperator('double % double: double', (left: number, right: number) => left % right);
  const sync = { async: false };
  environment.registerFunction(`timestamp(${TIMESTAMP}): ${TIMESTAMP}`, (value: Date) => value, sync);
  environment.registerFunction(`string(${TIMESTAMP}): string`, (value: Date) => timestampText(value), sync);
  environment.registerFunction(
    `string(${DURATION}): string`,
    (value: { toString(): string }) => value.toString(),
    sync,
  );
  const substring = (text: string, from: number, to?: number): string => sliceChecked(text, from, to);
  environment.registerFunction('string.substring(double): string', substring, sync);
  environment.registerFunction('string.substring(double, double): string', substring, sync);
  environment.registerFunction(`timestamp(double): ${TIMESTAMP}`, (secs: number) => timestampOf(secs), sync);
  return environment;
}

/** Formats RFC 3339; omits milliseconds if they are zero. */
export function timestampText(value: Date): string {
  return value.toISOString().replace('.000Z', 'Z');
}

function timestampOf(secs: number): Date {
  const date = new Date(secs * 1000);
  if (Number.isNaN(date.getTime())) throw new Error('timestamp() requires seconds since 1970');
  return date;
}

function sliceChecked(text: string, from: number, to: number = text.length): string {
  const fits = Number.isInteger(from) && Number.isInteger(to) && from >= 0 && from <= to && to <= text.length;
  if (!fits) throw new Error('string.substring(start, end): index out of range');
  return text.substring(from, to);
}
