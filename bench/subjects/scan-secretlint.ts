import { fileURLToPath } from 'node:url';
import { measureCommand } from '../src/scan/command.ts';
import type { Subject } from '../src/subject.ts';

const COMMAND = fileURLToPath(new URL('../node_modules/secretlint/bin/secretlint.js', import.meta.url));
const CONFIGURATION = JSON.stringify({ rules: [{ id: '@secretlint/secretlint-rule-preset-recommend' }] });

export function createSubject(): Subject {
  return {
    prepare: () => Promise.resolve(),
    close: () => Promise.resolve(),
    scan: ({ directory }) =>
      measureCommand(
        [
          process.execPath,
          COMMAND,
          '--no-gitignore',
          '--format',
          'compact',
          '--secretlintrcJSON',
          CONFIGURATION,
          `${directory}/**/*`,
        ],
        { codes: [0, 1], cwd: fileURLToPath(new URL('..', import.meta.url)) },
      ),
  };
}
