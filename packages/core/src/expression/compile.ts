import type { JsonValue } from '@heddle/base/json';
import { suggestName } from '@heddle/base/suggest';
import { makeEnvironment } from './environment.ts';
import { AllowanceSpentError, asExpressionError, ExpressionError } from './fault.ts';
import { instrument, markPauses } from './instrument.ts';
import { Meter, type Allowance, type SlicedAllowance } from './meter.ts';
import { collectReferences } from './references.ts';
import type { References, VariableUse } from './references.ts';
import { compilePattern } from './regex/pattern.ts';
import { allNodes } from './syntax-tree.ts';
import type { SyntaxNode } from './syntax-tree.ts';
import { admit, toJson } from './values.ts';

/** Maximum length of an expression, characters. */
export const EXPRESSION_CHARS_MAX = 4096;

/** Values of variables by name; a Date is a timestamp. */
export type Variables = Readonly<Record<string, unknown>>;

/** Compiled expression; stateless, so it may be evaluated any number of times. */
export interface Expression {
  readonly text: string;
  /** Its reads, by variable. */
  readonly references: References;
  /**
   * Returns its value as JSON. Ends within a fraction of a second, whatever the expression and the values.
   * @throws ExpressionError naming the position and the expression
   * @throws AllowanceSpentError if it exceeds the remaining allowance, but not its own limit
   */
  evaluate(variables: Variables, allowance?: Allowance): JsonValue;
  /** Evaluates in slices, between which the process does other work. */
  evaluateSliced(variables: Variables, allowance: SlicedAllowance): Promise<JsonValue>;
}

export interface CompileOptions {
  /** Variables that it may use. */
  variables: readonly string[];
  /** Also allows other names: they are looked up on evaluation, which fails if they are missing. */
  open?: boolean;
  /** Variable whose members are easily mistaken for variables; errors suggest to read them there. */
  members_of?: string;
}

export type Compiled = { ok: true; expression: Expression } | { ok: false; fault: ExpressionError };

/** Variables of expressions in task inputs, in `Conditional` and in notifications. */
export const FLOW_VARIABLES = ['nodes', 'data', 'workflow', 'task', 'now'] as const;

const DEFAULTS: CompileOptions = { variables: FLOW_VARIABLES };

/** Checks syntax, names, functions, patterns and, as far as known, types. */
export function compileExpression(text: string, options: CompileOptions = DEFAULTS): Compiled {
  try {
    return { ok: true, expression: compile(text, options) };
  } catch (error) {
    return { ok: false, fault: asExpressionError(error, text) };
  }
}

/** Tree of an expression, usable by one evaluation at a time. */
interface Program {
  references: References;
  meter: Meter;
  /** Returns a promise if it yielded to other work. */
  run: (context: Map<string, unknown>) => unknown;
}

function compile(text: string, options: CompileOptions): Expression {
  let idle: Program | null = buildProgram(text, options);
  const { references } = idle;
  // Another tree is built while one is in use, or has yielded: a tree that yielded once stays slower.
  const take = (): Program => {
    const program = idle ?? buildProgram(text, options);
    idle = null;
    return program;
  };
  const finish = (program: Program, allowance: Allowance | undefined): void => {
    allowance?.spend(program.meter.takeSpent());
    program.meter.end();
    if (!program.meter.hasPaused) idle = program;
  };
  return {
    text,
    references,
    evaluate: (variables, allowance) => {
      const program = take();
      try {
        return valueOf(program, begin(program, variables, allowance, null), allowance);
      } catch (error) {
        throw faultOf(program, error, text);
      } finally {
        finish(program, allowance);
      }
    },
    evaluateSliced: async (variables, allowance) => {
      const program = take();
      try {
        return valueOf(program, await begin(program, variables, allowance, allowance), allowance);
      } catch (error) {
        throw faultOf(program, error, text);
      } finally {
        finish(program, allowance);
      }
    },
  };
}

function buildProgram(text: string, options: CompileOptions): Program {
  if (text.trim() === '') throw new ExpressionError(text, 'the expression is empty', null);
  if (text.length > EXPRESSION_CHARS_MAX) {
    throw new ExpressionError(text, `has ${text.length} characters; at most ${EXPRESSION_CHARS_MAX} are allowed`, null);
  }
  const meter = new Meter();
  const parsed = makeEnvironment(options.variables, options.open === true, meter).parse(text);
  const root = parsed.ast as unknown as SyntaxNode;
  const nodes = allNodes(root);
  for (const node of nodes) replaceMatches(node, text);
  const references = collectReferences(root, text);
  if (options.open !== true) refuseUnknown(references, options, text);
  markPauses(nodes);
  const checked = parsed.check();
  if (checked.error !== undefined) throw checked.error;
  instrument(root, meter);
  return { references, meter, run: (context) => parsed(context) as unknown };
}

function begin(
  { references, meter, run }: Program,
  variables: Variables,
  allowance: Allowance | undefined,
  slices: SlicedAllowance | null,
): unknown {
  const context = contextOf(variables, references, (steps) => allowance?.spend(steps));
  meter.begin(allowance?.left, slices);
  return run(context);
}

function valueOf({ meter }: Program, result: unknown, allowance: Allowance | undefined): JsonValue {
  const value = toJson(result, (steps) => allowance?.spend(steps));
  // `||` and similar operators continue after one side fails.
  if (meter.isCutShort) throw new AllowanceSpentError();
  return value;
}

function faultOf({ meter }: Program, error: unknown, text: string): Error {
  return meter.isCutShort ? new AllowanceSpentError() : asExpressionError(error, text);
}

/** Converts only the values that the expression reads. */
function contextOf(variables: Variables, references: References, spend: (steps: number) => void): Map<string, unknown> {
  const context = new Map<string, unknown>();
  for (const name of references.keys()) {
    if (Object.hasOwn(variables, name)) context.set(name, admit(variables[name], spend));
  }
  return context;
}

/** Replaces the library's `matches`, which backtracks without bound on some patterns; this one runs in linear time. */
function replaceMatches(node: SyntaxNode, text: string): void {
  if (node.op !== 'rcall') return;
  const call = node.args as [string, SyntaxNode, SyntaxNode[]];
  if (call[0] !== 'matches') return;
  call[0] = 'matches_pattern';
  const pattern = call[2][0];
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') return;
  try {
    compilePattern(pattern.args);
  } catch (error) {
    throw new ExpressionError(text, (error as Error).message, pattern.start, error);
  }
}

function refuseUnknown(references: References, { variables, members_of }: CompileOptions, text: string): void {
  for (const [name, use] of references) {
    if (variables.includes(name) || BUILT_IN.has(name)) continue;
    const near = suggestName(name, variables);
    const offset = use.whole_at ?? Math.min(...use.members.values());
    if (near === null && members_of !== undefined) {
      const meant = shortestRead(name, use);
      throw new ExpressionError(text, `"${meant}" is not known here; write ${members_of}.${meant}`, offset);
    }
    const hint = near === null ? `the variables are ${variables.join(', ')}` : `did you mean "${near}"?`;
    throw new ExpressionError(text, `there is no variable "${name}"; ${hint}`, offset);
  }
}

/** Formats a read of a name as it may be written: `data.port`, or only `data`. */
function shortestRead(name: string, { members, whole_at }: VariableUse): string {
  const [first] = members.keys();
  return whole_at === null && first !== undefined && /^[A-Za-z_]\w*$/.test(first) ? `${name}.${first}` : name;
}

/** Names that the language itself defines: types, and namespaces of its functions. */
const BUILT_IN: ReadonlySet<string> = new Set([
  'bool',
  'bytes',
  'cel',
  'double',
  'dyn',
  'google',
  'int',
  'list',
  'map',
  'null_type',
  'optional',
  'string',
  'type',
  'uint',
]);
