import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const BUILD = join(ROOT, 'build');
const PACKAGES = ['base', 'client', 'core', 'executor', 'heddle', 'kit', 'recon', 'scan', 'web'] as const;
const CLIENT_MAX_BYTES = 200_000;

let directory: string;
const tarballs = new Map<string, string>();

before(async () => {
  directory = mkdtempSync(join(tmpdir(), 'heddle-packages-'));
  await run(process.execPath, ['scripts/build.ts'], { cwd: ROOT });
  const paths = PACKAGES.map((name) => `./${name}`);
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', directory, ...paths], { cwd: BUILD });
  const files = stdout.trim().split('\n');
  for (const [index, name] of PACKAGES.entries()) tarballs.set(name, join(directory, files[index]!));
});
after(() => rmSync(directory, { recursive: true, force: true }));

/** Installs packages in a new project, as a user would; what they need of each other is among them. */
async function install(...names: readonly string[]): Promise<string> {
  const project = mkdtempSync(join(directory, 'project-'));
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }));
  const files = names.map((name) => tarballs.get(name)!);
  const flags = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--silent', '--omit=optional'];
  await run('npm', ['install', ...flags, ...files], { cwd: project });
  return project;
}

function installed(project: string): string[] {
  const modules = join(project, 'node_modules');
  const names = readdirSync(modules).filter((name) => !name.startsWith('.'));
  return names.flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((inner) => `${name}/${inner}`) : [name],
  );
}

function bytesIn(path: string): number {
  const files = globSync('**/*', { cwd: path }).map((file) => statSync(join(path, file)));
  return files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
}

for (const name of PACKAGES) {
  describe(`the package ${name}`, () => {
    test('has a valid manifest, and exports that exist', async () => {
      const { messages, pkg } = await publint({ pkgDir: join(BUILD, name), level: 'warning', strict: true });
      assert.deepEqual(
        messages.map((message) => formatMessage(message, pkg as Record<string, unknown>)),
        [],
      );
    });

    test('has types that resolve', async () => {
      const data = createPackageFromTarballData(new Uint8Array(readFileSync(tarballs.get(name)!)));
      const result = await checkPackage(data);
      if (result.types === false) {
        assert.equal(name, 'web');
        return;
      }
      // The packages are ES modules, and their `exports` are for resolvers that know them.
      const problems = result.problems.filter(
        (problem) => !('resolutionKind' in problem && ['node10', 'node16-cjs'].includes(problem.resolutionKind)),
      );
      assert.deepEqual(problems, []);
    });

    test('has no source maps', () => {
      assert.deepEqual(globSync('**/*.map', { cwd: join(BUILD, name, 'dist') }), []);
    });
  });
}

test('the client is small and comes alone', async () => {
  const project = await install('client');
  assert.deepEqual(installed(project), ['@heddle/client']);
  const bytes = bytesIn(join(project, 'node_modules'));
  assert.ok(bytes < CLIENT_MAX_BYTES, `${bytes} bytes`);
});

/** A directory with one made-up secret, written in pieces here. */
function planted(project: string): string {
  const path = join(project, 'planted');
  mkdirSync(path);
  writeFileSync(join(path, 'key.env'), `AWS_ACCESS_KEY_ID=${['AKIA', 'QZ3MXV7N2KLPW4TD'].join('')}\n`);
  return path;
}

/** Runs an installed command on a directory with a secret, and returns what it printed. */
async function scanWith(command: readonly string[], project: string): Promise<string> {
  const args = [...command, planted(project), '--json', '--quiet'];
  const ended = await run(process.execPath, args).catch((error: unknown) => error as { stdout: string; code: number });
  assert.equal('code' in ended && ended.code, 1, 'a secret was found');
  return ended.stdout;
}

/** Probes a closed port with an installed command, and returns what it printed. */
async function probeWith(command: readonly string[]): Promise<string> {
  const args = [...command, 'tcp', '127.0.0.1', '--ports', '1', '--method', 'connect', '--all-states', '--json'];
  return (await run(process.execPath, args)).stdout;
}

function assertWithoutServer(project: string): void {
  const names = installed(project);
  for (const absent of ['pg', 'fastify', 'react', '@heddle/core']) assert.ok(!names.includes(absent), absent);
}

test('the scanner comes with its command, without a database, a web server or a console', async () => {
  const project = await install('base', 'scan');
  assertWithoutServer(project);
  const command = join(project, 'node_modules', '@heddle', 'scan', 'dist', 'command', 'main.js');
  assert.match(await scanWith([command], project), /"type":"finding"/);
  assert.match((await run(process.execPath, [command, '--help'])).stdout, /heddle-scan --staged/);
  writeFileSync(
    join(project, 'scan.js'),
    `import { startScan } from '@heddle/scan';\nprocess.stdout.write(typeof startScan);\n`,
  );
  assert.equal((await run(process.execPath, ['scan.js'], { cwd: project })).stdout, 'function');
});

test('the probes come with their command, without a database, a web server or a console', async () => {
  const project = await install('base', 'recon');
  assertWithoutServer(project);
  const command = join(project, 'node_modules', '@heddle', 'recon', 'dist', 'command', 'main.js');
  assert.match(await probeWith([command]), /"state":"closed"/);
  assert.match((await run(process.execPath, [command, 'dns', '--help'])).stdout, /heddle-recon dns example\.com/);
});

describe('all of it', () => {
  let project: string;
  before(async () => {
    project = await install(...PACKAGES);
  });

  test('has a command that starts and knows its files', async () => {
    const command = join(project, 'node_modules', 'heddle', 'dist', 'cli', 'main.js');
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    assert.match(
      (await run(process.execPath, [command, '--version'])).stdout,
      new RegExp(version.replaceAll('.', '\\.')),
    );
    assert.match(await scanWith([command, 'scan'], project), /"type":"finding"/);
    assert.match(await probeWith([command, 'recon']), /"state":"closed"/);
    assert.ok(existsSync(join(project, 'node_modules', '@heddle', 'web', 'dist', 'index.html')));
  });

  for (const [module, moduleResolution] of [
    ['node16', 'node16'],
    ['esnext', 'bundler'],
  ] as const)
    test(`has types under the resolution ${moduleResolution}`, async () => {
      writeFileSync(
        join(project, 'use.ts'),
        `import { HeddleClient, type TaskDto } from '@heddle/client';
import { defineKind, type KindContext } from '@heddle/kit';
import { defineEvent } from '@heddle/kit/event';
import { RemoteExecutor } from '@heddle/executor/client';
import { startScan } from '@heddle/scan';
export const client = new HeddleClient({ baseUrl: 'http://127.0.0.1:8085' });
export const kind = defineKind({ name: 'greet', run: (input: unknown, _context: KindContext) => input });
export const event = defineEvent({ name: 'ping', run: () => 'pong' });
export const used: unknown[] = [RemoteExecutor, startScan];
export const task = (id: string): Promise<TaskDto> => client.getTask(id);
// @ts-expect-error: inner files are no export
import '@heddle/core/internal/engine/submit';
`,
      );
      const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2024', '--types', 'node'];
      const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
      const types = ['--typeRoots', join(ROOT, 'node_modules', '@types')];
      const args = [tsc, ...options, ...types, '--module', module, '--moduleResolution', moduleResolution, 'use.ts'];
      const { stdout } = await run(process.execPath, args, { cwd: project }).catch(
        (error: unknown) => error as { stdout: string },
      );
      assert.equal(stdout, '');
    });
});
