import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { isObject } from '@heddle/base/parse/faults';
import { eventLoopTurn } from '@heddle/base/turn';
import { violatedRule } from './rules.ts';
import { type Token, tokensOf } from './tokens.ts';

export interface CodeFinding {
  /** Rule name: `eval`, `function-constructor`, `builtin:net`, `native-addon`, … */
  readonly rule: string;
  readonly path: string;
  /** Line number from 1; 0 for the whole file. */
  readonly line: number;
}

const FINDINGS_MAX = 200;
const SOURCE = /\.[cm]?[jt]sx?$/;
const SOURCE_BYTES_MAX = 16 * 1024 * 1024;
/** Characters scanned before yielding to the event loop. */
const YIELD_EVERY_CHARACTERS = 64 * 1024;
/** Tokens that a rule inspects before and after. */
const CONTEXT = 2;
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare'];

/**
 * Reports constructs that event code rarely needs and attacks often use. The scan only reads; code can evade it, so it
 * does not replace the sandbox.
 *
 * @returns at most 200 findings, in file order
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
  let pauseAt = YIELD_EVERY_CHARACTERS;
  const inspect = (tokens: readonly Token[], at: number): void => {
    const rule = violatedRule(tokens, at);
    if (rule !== null) findings.push({ rule, path, line: lines.lineOf(tokens[at]!.at) });
  };
  /** The inspected token is in the middle. */
  const window: Token[] = [];
  for (const token of tokensOf(source)) {
    window.push(token);
    if (window.length > 2 * CONTEXT + 1) window.shift();
    if (window.length > CONTEXT) inspect(window, window.length - 1 - CONTEXT);
    if (findings.length >= FINDINGS_MAX) return findings;
    if (token.at < pauseAt) continue;
    pauseAt = token.at + YIELD_EVERY_CHARACTERS;
    await eventLoopTurn();
  }
  for (let at = Math.max(0, window.length - CONTEXT); at < window.length; at += 1) inspect(window, at);
  return findings;
}

/** Install scripts never run here, but a package that declares them is worth reporting. */
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

/** Counts lines for increasing offsets. */
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
