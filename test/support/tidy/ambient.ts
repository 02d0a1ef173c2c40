import ts from 'typescript';
import { roomOf } from './imports.ts';
import { AMBIENT_FILES, AMBIENT_ROOMS } from './rooms.ts';
import { type Finding, isTypeScript, lineOf, parse, type SourceText, visit } from './source.ts';

const CLOCK = 'take a Clock (@heddle/base/clock) as a parameter';
const RANDOM = 'take a Random, or newId (@heddle/base/random), as a parameter';
const ENVIRONMENT = 'take the setting as a parameter; app reads the configuration';

/** Members of global objects that read or move the world outside, with the remedy. */
const MEMBERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Date: { now: CLOCK },
  performance: { now: CLOCK, timeOrigin: CLOCK },
  process: { env: ENVIRONMENT, hrtime: CLOCK },
  Math: { random: RANDOM },
  AbortSignal: { timeout: CLOCK },
};

/** Names that mean the same wherever they come from: globals, imports, members of `crypto`. */
const RANDOM_NAMES = new Set([
  'randomUUID',
  'randomBytes',
  'randomInt',
  'randomFill',
  'randomFillSync',
  'getRandomValues',
]);
const TIMER_NAMES = new Set(['setTimeout', 'setInterval', 'setImmediate']);

const TIMER_MODULES = new Set(['timers', 'node:timers', 'timers/promises', 'node:timers/promises']);

/** Named imports of Node's modules that are the same things under another roof. */
const IMPORTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  process: { env: ENVIRONMENT, hrtime: CLOCK },
  perf_hooks: { performance: CLOCK },
};

/** Holds that time, randomness, timers and the environment come in as parameters everywhere but in a few rooms. */
export function checkAmbient(sources: readonly SourceText[]): Finding[] {
  return sources.filter(({ path }) => mustBeGiven(path)).flatMap(findAmbient);
}

function mustBeGiven(path: string): boolean {
  if (!isTypeScript(path) || AMBIENT_FILES.some((each) => path.startsWith(each))) return false;
  return !AMBIENT_ROOMS.includes(roomOf(path) ?? '');
}

function findAmbient(source: SourceText): Finding[] {
  const file = parse(source);
  const findings: Finding[] = [];
  const report = (node: ts.Node, what: string, remedy: string): void => {
    const message = `${what} is only for ${AMBIENT_ROOMS.join(' and ')}; ${remedy}`;
    findings.push({ path: source.path, line: lineOf(file, node), message });
  };
  const declared = declaredNames(file);
  visit(file, (node) => {
    if (ts.isPropertyAccessExpression(node)) member(node.expression, node.name.text, node, report);
    else if (ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression))
      member(node.expression, node.argumentExpression.text, node, report);
    else if (ts.isVariableDeclaration(node)) destructured(node, report);
    else if (ts.isImportDeclaration(node)) imported(node, report);
    else if (ts.isNewExpression(node) && isName(node.expression, 'Date') && (node.arguments ?? []).length === 0)
      report(node, '`new Date()` without an argument', CLOCK);
    else if (ts.isCallExpression(node) && isName(node.expression, 'Date')) report(node, '`Date()`', CLOCK);
    else if (ts.isIdentifier(node) && !declared.has(node.text) && isFreeUse(node)) {
      if (TIMER_NAMES.has(node.text)) report(node, `\`${node.text}\``, CLOCK);
      else if (RANDOM_NAMES.has(node.text)) report(node, `\`${node.text}\``, RANDOM);
    }
  });
  return findings;
}

type Report = (node: ts.Node, what: string, remedy: string) => void;

function member(object: ts.Expression, name: string, node: ts.Node, report: Report): void {
  const owner = ts.isPropertyAccessExpression(object) && isName(object.expression, 'globalThis') ? object.name : object;
  const remedy = ts.isIdentifier(owner) ? MEMBERS[owner.text]?.[name] : undefined;
  if (remedy !== undefined) report(node, `\`${owner.getText()}.${name}\``, remedy);
  else if (RANDOM_NAMES.has(name)) report(node, `\`${name}\``, RANDOM);
  else if (isName(object, 'globalThis') && TIMER_NAMES.has(name)) report(node, `\`${name}\``, CLOCK);
}

function destructured(node: ts.VariableDeclaration, report: Report): void {
  if (!ts.isObjectBindingPattern(node.name) || node.initializer === undefined) return;
  const owner = node.initializer;
  for (const element of node.name.elements) {
    const name = (element.propertyName ?? element.name).getText();
    member(owner, name, element, report);
  }
}

function imported(node: ts.ImportDeclaration, report: Report): void {
  if (!ts.isStringLiteral(node.moduleSpecifier)) return;
  const specifier = node.moduleSpecifier.text;
  if (TIMER_MODULES.has(specifier)) {
    report(node, `'${specifier}'`, CLOCK);
    return;
  }
  const bindings = node.importClause?.namedBindings;
  if (bindings === undefined || !ts.isNamedImports(bindings)) return;
  for (const element of bindings.elements) {
    const name = (element.propertyName ?? element.name).text;
    const remedy = IMPORTED[specifier.replace(/^node:/, '')]?.[name];
    if (remedy !== undefined) report(element, `\`${name}\` of '${specifier}'`, remedy);
    else if (RANDOM_NAMES.has(name) && element.propertyName !== undefined) report(element, `\`${name}\``, RANDOM);
  }
}

/** Names that the file itself gives to parameters, variables and functions: they are not the global ones. */
function declaredNames(file: ts.SourceFile): Set<string> {
  const names = new Set<string>();
  visit(file, (node) => {
    if (!ts.isParameter(node) && !ts.isVariableDeclaration(node) && !ts.isFunctionDeclaration(node)) return;
    if (node.name !== undefined && ts.isIdentifier(node.name)) names.add(node.name.text);
  });
  return names;
}

/** True where the identifier stands for itself: not a member's name, a property of a literal, nor a declared member. */
function isFreeUse(node: ts.Identifier): boolean {
  const parent = node.parent;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isImportSpecifier(parent)) return parent.propertyName === undefined;
  if (ts.isBindingElement(parent)) return parent.initializer === node;
  const declaresMember =
    ts.isMethodDeclaration(parent) ||
    ts.isMethodSignature(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isPropertySignature(parent);
  return !declaresMember;
}

function isName(node: ts.Node, name: string): boolean {
  return ts.isIdentifier(node) && node.text === name;
}
