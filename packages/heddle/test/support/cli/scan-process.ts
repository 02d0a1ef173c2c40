/** Runs `heddle scan` as a process, in a separate directory. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { COMMAND_ENVIRONMENT, ended, WorkingDirectory, type Ended } from '@heddle/test-support/cli/command-process';
import { eventually } from '@heddle/test-support/eventually';
import { CATALOG_OPTIONS } from '@heddle/test-support/modules/catalog';

export const MAIN = join(import.meta.dirname, '../../../src/cli/main.ts');

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

/** A directory with files, and scans that start in it. */
export class ScanDirectory extends WorkingDirectory {
  constructor(files: Readonly<Record<string, string | Buffer>> = {}) {
    super();
    for (const [name, content] of Object.entries({ 'rules.toml': RULES, ...files })) this.write(name, content);
  }

  /** Starts a scan with the rules of these tests. */
  start(...args: readonly string[]): ChildProcess {
    return this.startIn({}, ...args);
  }

  /** The same, with further variables of the environment. */
  startIn(environment: Readonly<Record<string, string>>, ...args: readonly string[]): ChildProcess {
    return this.#spawn(environment, ['scan', '--rules', 'rules.toml', '--threads', '1', ...args]);
  }

  run(...args: readonly string[]): ChildProcess {
    return this.#spawn({}, args);
  }

  #spawn(environment: Readonly<Record<string, string>>, args: readonly string[]): ChildProcess {
    const env = { ...COMMAND_ENVIRONMENT, ...environment };
    return spawn(process.execPath, [...CATALOG_OPTIONS, MAIN, ...args], { cwd: this.path, env });
  }

  scan(args: readonly string[], stdin = ''): Promise<Ended> {
    return ended(this.start(...args), stdin);
  }

  /** A command without the rules of these tests. */
  heddle(args: readonly string[], stdin = ''): Promise<Ended> {
    return ended(this.run(...args), stdin);
  }

  /** Resolves once the scan is running: its report is being written. */
  async under(child: ChildProcess): Promise<void> {
    const partial = (): boolean => readdirSync(this.path).some((name) => name.endsWith(`.${child.pid ?? 0}.partial`));
    await eventually(partial, 'the scan writes its report');
  }
}
