import ts from 'typescript';
import { type Finding, isTypeScript, lineOf, parse, type SourceText, visit } from './source.ts';

/** PostgreSQL cuts longer names, so that two of them may become one. */
const NAME_BYTES_MAX = 63;

/** A name of a prepared statement, where it is written. */
interface Named {
  name: string;
  path: string;
  line: number;
  /** Whatever begins with the name and a dot is made while the program runs. */
  isFamily: boolean;
}

/** Makes statements whose names begin with what it is constructed with. */
interface Maker {
  className: string;
  /** What follows the beginning; empty where that is decided while the program runs. */
  endings: readonly string[];
}

/**
 * Holds that no two prepared statements have one name. All modules share a connection, and the second text under a name fails
 * when it is first run there.
 */
export function checkStatements(sources: readonly SourceText[]): Finding[] {
  const code = sources.filter(({ path, text }) => isTypeScript(path) && /\bStatement\b|\bnew [A-Z]/.test(text));
  const makers = new Map<string, Maker>();
  const named: Named[] = [];
  const findings: Finding[] = [];
  for (const source of code.filter(({ text }) => /import [^;]*\bStatement\b[^;]*database\.ts/.test(text))) {
    const found = statementsIn(source);
    named.push(...found.named);
    findings.push(...found.findings);
    for (const maker of found.makers) makers.set(maker.className, maker);
  }
  for (const source of code) named.push(...instancesIn(source, makers));
  return [...findings, ...named.flatMap((each) => tooLong(each)), ...collisions(named)];
}

function statementsIn(source: SourceText): { named: Named[]; makers: Maker[]; findings: Finding[] } {
  const file = parse(source);
  const result = { named: [] as Named[], makers: [] as Maker[], findings: [] as Finding[] };
  visit(file, (node) => {
    if (!ts.isObjectLiteralExpression(node)) return;
    const name = memberOf(node, 'name');
    if (name === null || memberOf(node, 'text') === null || node.properties.length !== 2) return;
    const line = lineOf(file, node);
    if (ts.isStringLiteralLike(name)) {
      result.named.push({ name: name.text, path: source.path, line, isFamily: false });
      return;
    }
    const factory = factoryOf(node);
    const className = enclosingClass(node);
    const given = factory === null ? [] : firstArguments(file, factory);
    if (className !== null) result.makers.push({ className, endings: given.map(({ text }) => text) });
    else if (given.length > 0)
      result.named.push(
        ...given.map((each) => ({ name: each.text, path: source.path, line: lineOf(file, each), isFamily: false })),
      );
    else
      result.findings.push({
        path: source.path,
        line,
        message:
          'the name of the statement cannot be read from the text; write it out, or pass it to the function here',
      });
  });
  return result;
}

/** `new Maker({ name: 'beginning' })`. */
function instancesIn(source: SourceText, makers: ReadonlyMap<string, Maker>): Named[] {
  const file = parse(source);
  const named: Named[] = [];
  visit(file, (node) => {
    if (!ts.isNewExpression(node) || !ts.isIdentifier(node.expression)) return;
    const maker = makers.get(node.expression.text);
    const [options] = node.arguments ?? [];
    if (maker === undefined || options === undefined || !ts.isObjectLiteralExpression(options)) return;
    const beginning = memberOf(options, 'name');
    if (beginning === null || !ts.isStringLiteralLike(beginning)) return;
    const at = { path: source.path, line: lineOf(file, node) };
    if (maker.endings.length === 0) named.push({ ...at, name: beginning.text, isFamily: true });
    for (const ending of maker.endings) named.push({ ...at, name: `${beginning.text}.${ending}`, isFamily: false });
  });
  return named;
}

function memberOf(object: ts.ObjectLiteralExpression, name: string): ts.Expression | null {
  for (const member of object.properties) {
    if (member.name === undefined || !ts.isIdentifier(member.name) || member.name.text !== name) continue;
    if (ts.isPropertyAssignment(member)) return member.initializer;
    if (ts.isShorthandPropertyAssignment(member)) return member.name;
  }
  return null;
}

/** The name of the local function that returns the object. */
function factoryOf(node: ts.Node): string | null {
  for (let at: ts.Node = node; !ts.isSourceFile(at) && !ts.isBlock(at); at = at.parent) {
    if (ts.isArrowFunction(at) && ts.isVariableDeclaration(at.parent) && ts.isIdentifier(at.parent.name))
      return at.parent.name.text;
  }
  return null;
}

function enclosingClass(node: ts.Node): string | null {
  for (let at: ts.Node = node; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isClassDeclaration(at)) return at.name?.text ?? null;
  }
  return null;
}

function firstArguments(file: ts.SourceFile, callee: string): ts.StringLiteralLike[] {
  const found: ts.StringLiteralLike[] = [];
  visit(file, (node) => {
    if (!ts.isCallExpression(node) || !ts.isIdentifier(node.expression) || node.expression.text !== callee) return;
    const [first] = node.arguments;
    if (first !== undefined && ts.isStringLiteralLike(first)) found.push(first);
  });
  return found;
}

function tooLong({ name, path, line }: Named): Finding[] {
  if (Buffer.byteLength(name) <= NAME_BYTES_MAX) return [];
  const message = `the name of the statement '${name}' has more than ${NAME_BYTES_MAX} bytes, which PostgreSQL cuts off`;
  return [{ path, line, message }];
}

function collisions(named: readonly Named[]): Finding[] {
  const first = new Map<string, Named>();
  const families = named.filter(({ isFamily }) => isFamily);
  return named.flatMap((each) => {
    const family = families.find(({ name }) => each.name.startsWith(`${name}.`));
    const other = first.get(each.name) ?? family;
    first.set(each.name, first.get(each.name) ?? each);
    if (other === undefined) return [];
    const where = `${other.path}:${other.line}`;
    const message = `a statement of ${where} ${family === undefined ? 'has' : 'may get'} the name '${each.name}', too; one connection takes one text under a name, so give this one its own`;
    return [{ path: each.path, line: each.line, message }];
  });
}
