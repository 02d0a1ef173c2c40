import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { isObject } from '../../../domain/parse/faults.ts';
import { eventLoopTurn } from '../../../runtime/turn.ts';
import { ruleBroken } from './rules.ts';
import { type Token, tokensOf } from './tokens.ts';

export interface CodeFinding {
  /** `eval`, `function-constructor`, `builtin:net`, `native-addon`, … */
  readonly rule: string;
  readonly path: string;
  /** 1 for the first; 0 where the whole file is meant. */
  readonly line: number;
}

const FINDINGS_MAX = 200;
const SOURCE = /\.[cm]?[jt]sx?$/;
const SOURCE_BYTES_MAX = 16 * 1024 * 1024;
/** Characters after which others get a turn. */
const STRETCH = 64 * 1024;
/** Tokens that a rule looks back and ahead. */
const CONTEXT = 2;
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare'];

/**
 * Looks for what code of events seldom needs and attacks often do. It reads, and runs nothing; who wants to hide from it
 * can, so it takes the place of no sandbox.
 *
 * @returns at most 200 findings, in the order of the files
 */
export async function scanCode(directory: string, files: readonly string[]): Promise<CodeFinding[]> {
  const findings: CodeFinding[] = [];
  for (const path of [...files].sort()) {
    if (findings.length >= FINDINGS_MAX) break;
    findings.push(...(await scanFile(join(directory, path), path)));
  }
  return findings.slice(0, FINDINGS_MAX);
}

async function scanFile(file: string, path: string): Promise<CodeFinding[]> {
  if (path.endsWith('.node')) return [{ rule: 'native-addon', path, line: 0 }];
  const isManifest = /(^|\/)package\.json$/.test(path);
  if (!isManifest && !SOURCE.test(path)) return [];
  if ((await stat(file)).size > SOURCE_BYTES_MAX) return [{ rule: 'too-large', path, line: 0 }];
  const text = await readFile(file, 'utf8');
  return isManifest ? scanManifest(text, path) : scanSource(text, path);
}

export async function scanSource(source: string, path: string): Promise<CodeFinding[]> {
  const findings: CodeFinding[] = [];
  const lines = new LineCounter(source);
  let pauseAt = STRETCH;
  const look = (tokens: readonly Token[], at: number): void => {
    const rule = ruleBroken(tokens, at);
    if (rule !== null) findings.push({ rule, path, line: lines.lineOf(tokens[at]!.at) });
  };
  /** The token that is looked at stands in the middle. */
  const window: Token[] = [];
  for (const token of tokensOf(source)) {
    window.push(token);
    if (window.length > 2 * CONTEXT + 1) window.shift();
    if (window.length > CONTEXT) look(window, window.length - 1 - CONTEXT);
    if (findings.length >= FINDINGS_MAX) return findings;
    if (token.at < pauseAt) continue;
    pauseAt = token.at + STRETCH;
    await eventLoopTurn();
  }
  for (let at = Math.max(0, window.length - CONTEXT); at < window.length; at += 1) look(window, at);
  return findings;
}

/** Scripts are never run here; that a package wants to is worth knowing. */
function scanManifest(text: string, path: string): CodeFinding[] {
  try {
    const manifest = JSON.parse(text) as unknown;
    const scripts = isObject(manifest) && isObject(manifest['scripts']) ? manifest['scripts'] : {};
    const wanted = INSTALL_SCRIPTS.some((name) => Object.hasOwn(scripts, name));
    return wanted ? [{ rule: 'install-script', path, line: 0 }] : [];
  } catch {
    return [];
  }
}

/** Lines of offsets that only grow. */
class LineCounter {
  readonly #source: string;
  #line = 1;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  lineOf(offset: number): number {
    for (let next = this.#source.indexOf('\n', this.#at); next >= 0 && next < offset;) {
      this.#line += 1;
      this.#at = next + 1;
      next = this.#source.indexOf('\n', this.#at);
    }
    return this.#line;
  }
}
