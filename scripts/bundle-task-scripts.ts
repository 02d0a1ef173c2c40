/**
 * `node scripts/bundle-task-scripts.ts DIRECTORY`: writes the scripts that task processes of executors start from, and
 * what events import. Each is one file, because loading ten modules costs about a third of Node's startup time. The
 * build runs it for the published package; in the repository each executor runs it when it starts.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'rolldown';

const EXECUTION = join(import.meta.dirname, '../packages/executor/src/execution');
const SCRIPTS = [
  { input: join(EXECUTION, 'child/main.ts'), file: 'remote/bootstrap.cjs', format: 'cjs' },
  { input: join(EXECUTION, 'zygote/main.ts'), file: 'remote/zygote.cjs', format: 'cjs' },
  { input: join(EXECUTION, 'starter/main.ts'), file: 'starter.cjs', format: 'cjs' },
  { input: fileURLToPath(import.meta.resolve('@heddle/kit/event')), file: 'remote/package/index.mjs', format: 'esm' },
] as const;

const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error('name the directory to write to');

for (const { input, file, format } of SCRIPTS) {
  await build({
    input,
    platform: 'node',
    output: { file: join(directory, file), format, strict: true },
    onLog: (_level, { message }) => {
      throw new Error(message);
    },
  });
}
