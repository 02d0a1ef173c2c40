/** Runs `heddle scan` as a process, in a separate directory. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { eventually } from '@heddle/test-support/eventually';

export const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

/** Made up: the rules of these tests search only for it. */
const RULES = `
[[rules]]
id = "test-token"
description = "A token of these tests."
regex = '''tst_([0-9a-f]{24})'''
keywords = ["tst_"]
tags = ["test"]
`;

export function token(seed: number): string {
  return `tst_${(seed * 7919).toString(16).padStart(6, '0').repeat(4)}`;
}

export interface Scanned {
  code: number | null;
  stdout: string;
  stderr: string;
  lines: string[];
  /** Standard output as JSON lines. */
  json: Record<string, unknown>[];
}

/** A directory with files, and scans that start in it. */
export class ScanDirectory {
  readonly path = mkdtempSync(join(tmpdir(), 'heddle-scan-cli-'));

  constructor(files: Readonly<Record<string, string | Buffer>> = {}) {
    for (const [name, content] of Object.entries({ 'rules.toml': RULES, ...files })) this.write(name, content);
  }

  at(name: string): string {
    return join(this.path, name);
  }

  write(name: string, content: string | Buffer): void {
    mkdirSync(dirname(this.at(name)), { recursive: true });
    writeFileSync(this.at(name), content);
  }

  /** Starts a scan with the rules of these tests. */
  start(...args: readonly string[]): ChildProcess {
    return this.run('scan', '--rules', 'rules.toml', '--threads', '1', ...args);
  }

  run(...args: readonly string[]): ChildProcess {
    const env = { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'] };
    return spawn(process.execPath, [MAIN, ...args], { cwd: this.path, env });
  }

  scan(args: readonly string[], stdin = ''): Promise<Scanned> {
    return ended(this.start(...args), stdin);
  }

  /** A command without the rules of these tests. */
  heddle(args: readonly string[], stdin = ''): Promise<Scanned> {
    return ended(this.run(...args), stdin);
  }

  /** Resolves once the scan is running: its report is being written. */
  async under(child: ChildProcess): Promise<void> {
    const partial = (): boolean => readdirSync(this.path).some((name) => name.endsWith(`.${child.pid ?? 0}.partial`));
    await eventually(partial, 'the scan writes its report');
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export async function ended(child: ChildProcess, stdin?: string): Promise<Scanned> {
  let stdout = '';
  let stderr = '';
  child.stdout!.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr!.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin!.on('error', () => undefined);
  if (stdin !== undefined) child.stdin!.end(stdin);
  const [code] = (await once(child, 'close')) as [number | null];
  const lines = stdout.split('\n').slice(0, -1);
  return {
    code,
    stdout,
    stderr,
    lines,
    get json() {
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
}
