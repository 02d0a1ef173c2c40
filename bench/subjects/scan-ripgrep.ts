import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureCommand } from '../src/scan/command.ts';
import type { Subject } from '../src/subject.ts';

export function createSubject(): Subject {
  const scratch = mkdtempSync(join(tmpdir(), 'heddle-bench-ripgrep-'));
  const patternFile = join(scratch, 'patterns');
  return {
    prepare: () => Promise.resolve(),
    close() {
      rmSync(scratch, { recursive: true, force: true });
      return Promise.resolve();
    },
    async scan({ directory, patterns, threads, planted }) {
      writeFileSync(patternFile, patterns.join('\n'));
      const wanted = new Set(planted);
      const found = new Set<string>();
      const flags = [
        '--no-config',
        '--no-ignore',
        '--hidden',
        '--text',
        '--only-matching',
        '--no-filename',
        '--no-line-number',
      ];
      const run = await measureCommand(
        ['rg', ...flags, '--no-unicode', '--threads', String(threads), '--file', patternFile, directory],
        { codes: [0, 1], onLine: (line) => wanted.has(line) && found.add(line) },
      );
      return { ...run, found: found.size };
    },
  };
}
