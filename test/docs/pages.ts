/** The documentation as its tests read it. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..');

export interface Fence {
  /** What stands after the backticks: `sh`, `json`; empty where nothing does. */
  language: string;
  text: string;
}

export interface Page {
  /** From the root, with forward slashes. */
  path: string;
  text: string;
  /** The text without its fenced code. */
  prose: string;
  fences: readonly Fence[];
}

const FENCE = /^( *)```(\w*)\n([\s\S]*?)^\1```$/gm;

export function readPages(): Page[] {
  const paths = ['README.md', 'CHANGELOG.md', ...globSync('docs/**/*.md', { cwd: ROOT })];
  return paths.map((path) => readPage(path.replaceAll('\\', '/')));
}

export function readPage(path: string): Page {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const fences = [...text.matchAll(FENCE)].map(([, , language, code]) => ({ language: language!, text: code! }));
  return { path, text, prose: text.replaceAll(FENCE, ''), fences };
}

/** What stands between single backticks outside of fenced code. */
export function inlineCode(page: Page): string[] {
  return [...page.prose.matchAll(/`([^`\n]+)`/g)].map((match) => match[1]!);
}

/** The cells of each row of a page's tables, without their surrounding blanks. */
export function tableRows(page: Page): string[][] {
  return page.prose
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(page: Page): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of page.prose.matchAll(/^#{1,6} +(.+)$/gm)) {
    const words = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-');
    let unique = slug;
    for (let n = 1; anchors.has(unique); n += 1) unique = `${slug}-${n}`;
    anchors.add(unique);
  }
  return anchors;
}
