import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

export const ROOT = join(import.meta.dirname, '../../..');

/** One file of the project as the checks see it: its path from the root, with forward slashes, and its text. */
export interface SourceText {
  path: string;
  text: string;
}

/** One breach of a rule of the house. */
export interface Finding {
  path: string;
  /** Counted from 1. */
  line: number;
  /** What is wrong, then what to do instead. */
  message: string;
}

/** Lists the files that are tracked or could be: everything that git does not ignore. */
export function listFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const paths = listed.split('\0').filter((path) => path !== '' && existsSync(join(ROOT, path)));
  return [...new Set(paths)].sort();
}

/** Reads those of the files that hold text. */
export function readTexts(paths: readonly string[]): SourceText[] {
  return paths.flatMap((path) => {
    const bytes = readFileSync(join(ROOT, path));
    return bytes.subarray(0, 8000).includes(0) ? [] : [{ path, text: bytes.toString('utf8') }];
  });
}

const parsed = new WeakMap<SourceText, ts.SourceFile>();

/** Parses TypeScript (or TSX, by the path's ending), once for each file. */
export function parse(source: SourceText): ts.SourceFile {
  let file = parsed.get(source);
  if (file === undefined) {
    file = ts.createSourceFile(source.path, source.text, ts.ScriptTarget.Latest, true);
    parsed.set(source, file);
  }
  return file;
}

export function isTypeScript(path: string): boolean {
  return /\.tsx?$/.test(path);
}

/** The line of a node's first character, counted from 1. */
export function lineOf(file: ts.SourceFile, node: ts.Node): number {
  return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
}

/** Calls back with every node of the tree, parents first. */
export function visit(file: ts.SourceFile, each: (node: ts.Node) => void): void {
  const walk = (node: ts.Node): void => {
    each(node);
    ts.forEachChild(node, walk);
  };
  walk(file);
}

/** One line a finding, each clickable: `path:line message`. */
export function format(findings: readonly Finding[]): string {
  return findings.map((finding) => `${finding.path}:${finding.line} ${finding.message}`).join('\n');
}
