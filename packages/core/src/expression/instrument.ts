import type { Meter } from './meter.ts';
import { allNodes } from './syntax-tree.ts';
import type { Evaluate, SyntaxNode } from './syntax-tree.ts';

/** Maximum characters of a duration such as `1h30m`. */
const DURATION_CHARS_MAX = 64;
/** Maximum characters that `join` may build. */
const JOINED_CHARS_MAX = 4_194_304;
/** Cost of computing the local time of a time zone. */
const TIME_ZONE_COST = 500;

const SEARCHES = new Set(['contains', 'indexOf', 'lastIndexOf', 'split', 'startsWith', 'endsWith']);
/** Operations that create new values; all others pass existing values on. */
const MAKERS = new Set(['+', 'call', 'rcall']);
const ACCESSES = new Set(['.', '.?', '[]', '[?]']);

/**
 * Adds metering to a checked tree: counts each step over a node, and each operation on values before it begins;
 * restricts member access to JSON values.
 */
export function instrument(root: SyntaxNode, meter: Meter): void {
  const nodes = allNodes(root);
  const steps = new Set([...nodes].flatMap((node) => (node.op === 'comprehension' ? [loopOf(node).step] : [])));
  for (const node of nodes) {
    keepContext(node.op === 'comprehension' ? loopOf(node).iterCtx : node.meta.macro?.bindCtx);
    meterEvaluation(node, meter, steps.has(node));
    if (node.handle === undefined) continue;
    const charge = chargeOf(node, meter);
    if (charge === null) continue;
    const handle = node.handle;
    const run = (operands: unknown[]): unknown => {
      charge(operands);
      const value = handle(...operands);
      if (MAKERS.has(node.op)) meter.spendOn(value);
      return value;
    };
    node.handle = (...operands) =>
      operands[0] instanceof Promise || operands[1] instanceof Promise
        ? Promise.all(operands).then(run)
        : run(operands);
  }
}

/**
 * Lets evaluations yield to other work at each step of a loop. Must be called before the tree is checked: the library
 * then treats loops as asynchronous.
 */
export function markPauses(nodes: Iterable<SyntaxNode>): void {
  for (const node of nodes) {
    if (node.op === 'comprehension') loopOf(node).step.meta.async = true;
  }
}

function loopOf(node: SyntaxNode): { step: SyntaxNode; iterCtx: object } {
  return node.args as { step: SyntaxNode; iterCtx: object };
}

/**
 * Shares one context among the rounds of a loop. After a pause the library would give each further round its own
 * context, as if rounds ran in parallel, and so lose the state of `all`, `exists` and `exists_one` nested in another
 * loop. Here a tree has one evaluation at a time, and its loops one round.
 */
function keepContext(context: object | undefined): void {
  if (context === undefined) return;
  Object.defineProperty(context, 'async', { get: () => false, set: () => undefined });
}

/** Defines an `evaluate` that cannot be replaced: the library would install its own at the first call. */
function meterEvaluation(node: SyntaxNode, meter: Meter, isStep: boolean): void {
  const { alternate, macro } = node.meta;
  const inner: Evaluate =
    alternate !== undefined
      ? (evaluator, _node, context) => alternate.evaluate(evaluator, alternate, context)
      : macro !== undefined
        ? (evaluator, _node, context) => macro.evaluate(evaluator, macro, context)
        : node.meta.evaluate;
  const evaluate: Evaluate = (evaluator, _node, context) => {
    meter.spend(1);
    if (isStep && meter.isSliceOver) return meter.nextSlice().then(() => inner(evaluator, node, context));
    return inner(evaluator, node, context);
  };
  Object.defineProperty(node, 'evaluate', { value: evaluate, writable: false });
}

/** Cost counted before an operation; null if only the step over its node counts. */
function chargeOf(node: SyntaxNode, meter: Meter): ((operands: unknown[]) => void) | null {
  if (ACCESSES.has(node.op)) return ([owner]) => refuseForeignObject(owner);
  switch (node.op) {
    case '==':
    case '!=':
      return ([left, right]) => {
        meter.spendOnType(left);
        meter.spendOnType(right);
        meter.spendOnComparing(typeof right === 'object' ? left : right);
      };
    case 'in':
      return ([left, right]) => {
        meter.spendOnType(left);
        meter.spendOnType(right);
        meter.spendOnComparing(Array.isArray(right) ? right : left);
      };
    case '+':
    case 'comprehension':
      return (operands) => {
        meter.spendOn(operands[0]);
        if (node.op === '+') {
          meter.spendOn(operands[1]);
          meter.spendOnType(operands[0]);
          meter.spendOnType(operands[1]);
        }
      };
    case 'call':
      return ([values]) => {
        chargeCall((node.args as [string])[0], values as unknown[], meter, false);
      };
    case 'rcall':
      return ([values]) => {
        chargeCall((node.args as [string])[0], values as unknown[], meter, true);
      };
    default:
      return null;
  }
}

function chargeCall(name: string, values: unknown[], meter: Meter, isMethod: boolean): void {
  for (const value of values) {
    meter.spendOn(value);
    meter.spendOnType(value);
  }
  const [first, second] = values;
  if (isMethod && SEARCHES.has(name) && typeof first === 'string' && typeof second === 'string') {
    meter.spendOnSearching(first, second);
  } else if (isMethod && name === 'join' && Array.isArray(first)) {
    refuseLongJoin(first, typeof second === 'string' ? second.length : 0);
  } else if (isMethod && name.startsWith('get') && typeof second === 'string') {
    meter.spend(TIME_ZONE_COST);
  } else if (name === 'duration' && typeof first === 'string' && first.length > DURATION_CHARS_MAX) {
    throw new Error(`duration() takes at most ${DURATION_CHARS_MAX} characters`);
  }
}

function refuseLongJoin(texts: readonly unknown[], separatorChars: number): void {
  const chars = texts.reduce<number>(
    (sum, text) => sum + separatorChars + (typeof text === 'string' ? text.length : 0),
    0,
  );
  if (chars > JOINED_CHARS_MAX) throw new Error(`join() makes at most ${JOINED_CHARS_MAX} characters`);
}

/** Rejects members of dates and durations, which are class instances of the library. */
function refuseForeignObject(owner: unknown): void {
  if (owner instanceof Date) throw new Error('a timestamp has no members; call its functions, such as getFullYear()');
  if (typeof owner !== 'object' || owner === null || Array.isArray(owner) || owner instanceof Map) return;
  const prototype: unknown = Object.getPrototypeOf(owner);
  if (
    prototype === Object.prototype ||
    prototype === null ||
    Object.prototype.toString.call(owner) === '[object optional]'
  ) {
    return;
  }
  throw new Error('this value has no members');
}
