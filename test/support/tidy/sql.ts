import ts from 'typescript';
import { type Finding, isTypeScript, lineOf, parse, type SourceText, visit } from './source.ts';

/** Columns and variables that hold a code of `store/sql-names.ts`. */
const CODED =
  '(?:state|paused_from|parent_state|target|code|policy|mode|lane|source|sources|exhaustion|deadline_basis|rule_type)';
const BARE = [
  new RegExp(String.raw`\b(?:[pv]_)?${CODED}(?: \+ 0\)?)?(?:::smallint)? (?:=|<>|<=?|>=?) -?\d`),
  new RegExp(String.raw`\b(?:[pv]_)?${CODED}(?: \+ 0\)?)? (?:not )?in \(-?\d`),
  new RegExp(String.raw`\bcase (?:\w+\.)?(?:[pv]_)?${CODED} when -?\d`),
  /(?<![$\w])\d+ (?:=|<>) (?:any|all) ?\(/,
  /(?<![$\w])\d+::smallint/,
];

/**
 * Checks that SQL uses the names of codes (`:succeeded`) instead of numbers: in the functions, and in the statements of
 * TypeScript.
 */
export function checkSqlCodes(sources: readonly SourceText[]): Finding[] {
  return sources.flatMap((source) => {
    if (source.path.includes('/sql/functions/')) return bareCodes(source.path, 1, source.text);
    if (!isTypeScript(source.path) || !/\b(?:select|update|delete)\b/.test(source.text)) return [];
    return statementsOf(source).flatMap(({ line, text }) => bareCodes(source.path, line, text));
  });
}

function statementsOf(source: SourceText): { line: number; text: string }[] {
  const file = parse(source);
  const found: { line: number; text: string }[] = [];
  visit(file, (node) => {
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
    if (!isText || !/^[`'\s]*(?:select|with|update|insert|delete)\b/.test(node.getText(file))) return;
    found.push({ line: lineOf(file, node), text: node.getText(file).slice(1, -1) });
  });
  return found;
}

function bareCodes(path: string, first: number, sql: string): Finding[] {
  const code = sql.replaceAll(/--.*|'(?:[^'\n]|'')*'/g, '');
  return code.split('\n').flatMap((line, index) => {
    if (!BARE.some((pattern) => pattern.test(line))) return [];
    const message = `a bare code in SQL; name it (store/sql-names.ts has the names): ${line.trim()}`;
    return [{ path, line: first + index, message }];
  });
}

const LINES_MAX = 80;
const PARAMETERS_MAX = 8;

/** Checks that files of SQL functions begin with a comment, and that functions are short and take few parameters. */
export function checkSqlFunctions(sources: readonly SourceText[]): Finding[] {
  return sources
    .filter(({ path }) => path.includes('/sql/functions/'))
    .flatMap(({ path, text }) => {
      const head = text.startsWith('-- ')
        ? []
        : [{ path, line: 1, message: 'begin with a comment: purpose, locks, callers' }];
      return [...head, ...sizesOf(path, text)];
    });
}

function sizesOf(path: string, text: string): Finding[] {
  const functions = text.matchAll(
    /^create or replace function (\w+)\(([^]*?)\)\s+(?:returns|language)\b[^]*?\$\$[^]*?\$\$/gm,
  );
  return [...functions].flatMap(({ 0: whole, 1: name, 2: list, index }) => {
    const line = text.slice(0, index).split('\n').length;
    const lines = whole.split('\n').length;
    const parameters = (list ?? '').split(',').filter((parameter) => !/^\s*out /.test(parameter)).length;
    return [
      ...(lines > LINES_MAX ? [`${name} has ${lines} lines (at most ${LINES_MAX}): find its stages`] : []),
      ...(parameters > PARAMETERS_MAX
        ? [`${name} has ${parameters} parameters (at most ${PARAMETERS_MAX}): use a composite type or a row`]
        : []),
    ].map((message) => ({ path, line, message }));
  });
}
