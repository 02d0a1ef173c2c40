import ts from 'typescript';
import { LIMITS } from './rooms.ts';
import { type Finding, isTypeScript, lineOf, parse, type SourceText, visit } from './source.ts';

const FILE_ADVICE = `the guideline is ${LIMITS.file_lines_guideline}: find the stage that wants a file of its own`;
const FUNCTION_ADVICE = `the guideline is ${LIMITS.function_lines_guideline}: find the step that wants a name of its own`;

/** Holds the length of files and of functions in `src/` and `scripts/`. */
export function checkSize(sources: readonly SourceText[]): Finding[] {
  const measured = sources.filter(({ path }) => /^(src|scripts)\/.*\.(tsx?|sql)$/.test(path));
  return measured.flatMap((source) => [
    ...fileTooLong(source),
    ...(isTypeScript(source.path) ? longFunctions(source) : []),
  ]);
}

function fileTooLong({ path, text }: SourceText): Finding[] {
  const lines = text.replace(/\n$/, '').split('\n').length;
  if (lines <= LIMITS.file_lines_max) return [];
  return [{ path, line: 1, message: `has ${lines} lines, the limit is ${LIMITS.file_lines_max}; ${FILE_ADVICE}` }];
}

function longFunctions(source: SourceText): Finding[] {
  const file = parse(source);
  const findings: Finding[] = [];
  visit(file, (node) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return;
    const lines = file.getLineAndCharacterOfPosition(node.getEnd()).line + 2 - lineOf(file, node);
    if (lines <= LIMITS.function_lines_max) return;
    const name = node.name?.getText(file) ?? enclosingName(node) ?? 'a function';
    const message = `${name} has ${lines} lines, the limit is ${LIMITS.function_lines_max}; ${FUNCTION_ADVICE}`;
    findings.push({ path: source.path, line: lineOf(file, node), message });
  });
  return findings;
}

function enclosingName(node: ts.Node): string | undefined {
  const parent = node.parent;
  return ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) ? parent.name.getText() : undefined;
}
