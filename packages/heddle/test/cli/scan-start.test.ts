import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { ended } from '@heddle/test-support/cli/command-process';
import { MAIN, ScanDirectory, token } from '../support/cli/scan-process.ts';

/** Writes each module that a thread loads to standard error; threads inherit it. */
const TELL_MODULES = `data:text/javascript,
import { registerHooks } from 'node:module';
import { writeSync } from 'node:fs';
registerHooks({ load: (url, context, next) => (writeSync(2, 'loaded ' + url + '\\n'), next(url, context)) });`;

let directory: ScanDirectory;

before(() => {
  directory = new ScanDirectory({ 'plain/a.env': `${token(1)}\n`, 'packed/a.env.gz': gzipSync(`${token(2)}\n`) });
});

after(() => directory.remove());

/** The modules loaded by a scan of a directory, and its exit code. */
async function loadedBy(target: string): Promise<{ code: number | null; loaded: string[] }> {
  const args = ['--import', TELL_MODULES.replaceAll('\n', ''), MAIN, 'scan', target, '--rules', 'rules.toml'];
  const { code, stderr } = await ended(spawn(process.execPath, args, { cwd: directory.path }));
  return { code, loaded: [...stderr.matchAll(/^loaded (.*)$/gm)].map(([, url]) => url!) };
}

test('a scan loads only what it needs, and nothing of other commands, sources and archives', async () => {
  const [plain, packed] = await Promise.all([loadedBy('plain'), loadedBy('packed')]);
  assert.deepEqual([plain.code, packed.code], [1, 1]);
  const needless =
    /\/(?:pino|croner|cli-progress)\/|\/cli\/program\.ts|\/app\/config\.ts|\/source\/(?:git|s3)\/|open-archive/;
  assert.deepEqual(
    plain.loaded.filter((url) => needless.test(url)),
    [],
  );
  assert.ok(plain.loaded.some((url) => url.endsWith('/scan/src/worker/serve.ts')));
  assert.ok(packed.loaded.some((url) => url.endsWith('/open-archive.ts')));
});
