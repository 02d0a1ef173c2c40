import ts from 'typescript';
import { type Finding, lineOf, parse, type SourceText, visit } from './source.ts';

/** A comment of this form, on the line or the one above, lets a fixed wait or deadline stand. */
const WAIT_REASON = /\/\/ fixed wait: \S+/;

const WAITS = new Set(['setTimeout', 'sleep', 'delay', 'wait']);
const TEST_ROOTS = new Set(['test', 'it', 'describe', 'suite']);
const CONTEXTS = new Set(['t', 'context']);
const EXCLUSIONS = new Set(['skip', 'todo']);

/** Holds that tests wait on signals, that none is left out silently, and that none runs alone. */
export function checkTests(sources: readonly SourceText[]): Finding[] {
  return sources.filter(({ path }) => /^(?:packages\/[^/]+\/)?test\/.*\.test\.ts$/.test(path)).flatMap(findInTest);
}

/** Holds that a reader of a `test/` can tell the tests from the code that they share. */
export function checkTestFiles(paths: readonly string[]): Finding[] {
  const stray = (path: string): boolean =>
    /^(?:packages\/[^/]+\/)?test\/(?!support\/).*\.[cm]?[jt]sx?$/.test(path) && !path.endsWith('.test.ts');
  const message =
    'is neither a `*.test.ts` nor in `test/support/`, where code lies that tests import or start; move it there';
  return paths.filter(stray).map((path) => ({ path, line: 1, message }));
}

function findInTest(source: SourceText): Finding[] {
  const file = parse(source);
  const lines = source.text.split('\n');
  const virtual = /\bVirtualClock\b/.test(source.text);
  const findings: Finding[] = [];
  visit(file, (node) => {
    if (!ts.isCallExpression(node)) return;
    const line = lineOf(file, node);
    const reasoned = [lines[line - 1], lines[line - 2]].some((text) => text !== undefined && WAIT_REASON.test(text));
    const message = (reasoned ? null : fixedWait(node, virtual)) ?? leftOut(node);
    if (message !== null) findings.push({ path: source.path, line, message });
  });
  return findings;
}

function fixedWait(call: ts.CallExpression, virtual: boolean): string | null {
  const callee = call.expression;
  const name = ts.isIdentifier(callee) ? callee.text : ts.isPropertyAccessExpression(callee) ? callee.name.text : '';
  if (!WAITS.has(name) || !call.arguments.some(isPositiveLiteral)) return null;
  // A virtual clock's sleep costs no time; only the machine's own clock makes a wait a guess.
  if (virtual && ts.isPropertyAccessExpression(callee) && !/system/i.test(callee.expression.getText())) return null;
  return (
    `\`${name}\` with a fixed time is a guess; wait on a signal or poll with a deadline. ` +
    `Where the time itself is the point, write \`// fixed wait: REASON\` on the line or above it`
  );
}

function isPositiveLiteral(node: ts.Expression): boolean {
  if (ts.isNumericLiteral(node)) return Number(node.text.replaceAll('_', '')) > 0;
  return ts.isBinaryExpression(node) && isPositiveLiteral(node.left) && isPositiveLiteral(node.right);
}

function leftOut(call: ts.CallExpression): string | null {
  const callee = call.expression;
  if (ts.isPropertyAccessExpression(callee) && ts.isIdentifier(callee.expression)) {
    const root = callee.expression.text;
    const member = callee.name.text;
    if (TEST_ROOTS.has(root) && member === 'only') return `\`${root}.only\` silences every other test; remove it`;
    if (TEST_ROOTS.has(root) && EXCLUSIONS.has(member)) return withoutReason(`${root}.${member}`);
    if (CONTEXTS.has(root) && EXCLUSIONS.has(member) && !isReason(call.arguments[0]))
      return withoutReason(`${root}.${member}()`);
  }
  const root = ts.isPropertyAccessExpression(callee) ? callee.expression : callee;
  if (!ts.isIdentifier(root) || !(TEST_ROOTS.has(root.text) || CONTEXTS.has(root.text))) return null;
  return leftOutByOptions(call);
}

function leftOutByOptions(call: ts.CallExpression): string | null {
  for (const option of call.arguments
    .filter(ts.isObjectLiteralExpression)
    .flatMap((options) => [...options.properties])) {
    if (!ts.isPropertyAssignment(option)) continue;
    const name = option.name.getText();
    if (name === 'only' && option.initializer.kind !== ts.SyntaxKind.FalseKeyword)
      return '`only` silences every other test; remove it';
    if (EXCLUSIONS.has(name) && isBoolean(option.initializer)) return withoutReason(name);
  }
  return null;
}

function withoutReason(what: string): string {
  return `\`${what}\` without a reason hides a test; give \`{ skip: 'REASON' }\` (or todo), which the report prints, or repair the test`;
}

function isReason(node: ts.Expression | undefined): boolean {
  return node !== undefined && !(ts.isStringLiteralLike(node) && node.text.trim() === '') && !isBoolean(node);
}

/** True for expressions that can only be true or false, so that no reason could be printed. */
function isBoolean(node: ts.Expression): boolean {
  if (node.kind === ts.SyntaxKind.TrueKeyword) return true;
  if (ts.isParenthesizedExpression(node)) return isBoolean(node.expression);
  if (ts.isPrefixUnaryExpression(node)) return node.operator === ts.SyntaxKind.ExclamationToken;
  if (!ts.isBinaryExpression(node)) return false;
  const operator = node.operatorToken.kind;
  if (operator === ts.SyntaxKind.AmpersandAmpersandToken || operator === ts.SyntaxKind.BarBarToken)
    return isBoolean(node.right);
  return [
    ts.SyntaxKind.EqualsEqualsEqualsToken,
    ts.SyntaxKind.ExclamationEqualsEqualsToken,
    ts.SyntaxKind.LessThanToken,
    ts.SyntaxKind.GreaterThanToken,
    ts.SyntaxKind.LessThanEqualsToken,
    ts.SyntaxKind.GreaterThanEqualsToken,
  ].includes(operator);
}
