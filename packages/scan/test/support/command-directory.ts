/** Runs `heddle-scan` as a process, in a directory of its own. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

import { COMMAND_ENVIRONMENT, ended, type Ended, WorkingDirectory } from '@heddle/test-support/cli/command-process';
import { CATALOG_OPTIONS } from '@heddle/test-support/modules/catalog';

const SCAN_MAIN = join(import.meta.dirname, '../../src/command/main.ts');

export class CommandDirectory extends WorkingDirectory {
  constructor(t: TestContext, files: Readonly<Record<string, string | Buffer>> = {}) {
    super();
    t.after(() => this.remove());
    for (const [name, content] of Object.entries(files)) this.write(name, content);
  }

  scan(...args: readonly string[]): Promise<Ended> {
    const env = { ...COMMAND_ENVIRONMENT };
    return ended(
      spawn(process.execPath, [...CATALOG_OPTIONS, SCAN_MAIN, ...args, '--no-progress'], { cwd: this.path, env }),
      '',
    );
  }
}
