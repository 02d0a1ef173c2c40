/** The survey as started by hand: a Heddle with its kinds, and the command beside it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { COMMAND_ENVIRONMENT } from '@heddle/test-support/cli/command-process';
import { eventually } from '@heddle/test-support/eventually';
import { DataDirectory, request } from '@heddle/test-support/app/heddle-process';
import { CATALOG_OPTIONS } from '@heddle/test-support/modules/catalog';

const EXAMPLE = join(import.meta.dirname, '..', '..', 'examples', 'repository-survey');

const data = DataDirectory.prepared();
after(() => data.dispose());

async function survey(url: string, root: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const args = [...CATALOG_OPTIONS, join(EXAMPLE, 'start.ts'), '--url', url, '--root', root];
  const child = spawn(process.execPath, args, {
    env: { ...COMMAND_ENVIRONMENT, HEDDLE_DATA_DIR: data.path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...said };
}

async function statesAt(url: string): Promise<string[]> {
  const { json } = await request(url, 'GET', '/v1/jobs/repository-survey/history');
  return (json as { state: string }[]).map(({ state }) => state);
}

test('the survey measures a directory, also repeatedly, and leaves its job', async () => {
  const run = data.up({ HEDDLE_MODULES: join(EXAMPLE, 'kinds.ts') });
  const { url } = await run.ready();
  const root = join(data.path, 'measured');
  mkdirSync(root);
  for (let n = 0; n < 25; n += 1) writeFileSync(join(root, `file-${n}.ts`), 'export const one = 1;\n');
  const first = await survey(url, root);
  assert.equal(first.code, 0, first.stderr + run.stderr);
  assert.match(first.stdout, /TypeScript +25/);
  await eventually(async () => (await statesAt(url)).join() === 'Succeeded', 'the history of the job knows the end');
  writeFileSync(join(root, 'notes.md'), '# Notes\n');
  const second = await survey(url, root);
  assert.equal(second.code, 0, second.stderr + run.stderr);
  assert.match(second.stdout, /Markdown +1/);
  await eventually(async () => (await statesAt(url)).join() === 'Succeeded,Succeeded', 'it knows both');
  assert.equal(await run.end('SIGINT'), 0, run.stderr);
  await data.gone();
});
