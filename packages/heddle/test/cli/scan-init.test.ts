import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parse } from 'yaml';

import { ScanDirectory } from '../support/cli/scan-process.ts';

/** Made up, and in pieces, so that no scanner mistakes it for a real one. */
const key = (letter: string): string => ['acme', `k3Vq8ZtB5xWm${letter}2RfJ9cLd`].join('_');

const RULES = `
[[rules]]
id = "acme-key"
description = "Found a key of Acme."
regex = '''acme_[A-Za-z0-9]{21}'''
keywords = ["acme_"]
`;

const MODULES = join(import.meta.dirname, '../../../../node_modules');

class Repository extends ScanDirectory {
  constructor(t: TestContext, files: Readonly<Record<string, string>> = {}) {
    super({ '.heddle-scan.toml': RULES, '.gitignore': 'node_modules\nrules.toml\n', ...files });
    t.after(() => this.remove());
    this.git('init', '-q');
    // The package that the hook and the jobs run: npx prefers the one that is installed here.
    this.write('node_modules/.keep', '');
    symlinkSync(join(MODULES, '@heddle'), this.at('node_modules/@heddle'));
  }

  git(...args: string[]): { status: number | null; text: string } {
    const settings = ['-c', 'user.name=T', '-c', 'user.email=t@example.com'];
    return this.#spawn('git', [...settings, ...args]);
  }

  shell(line: string): { status: number | null; text: string } {
    return this.#spawn('sh', ['-c', line]);
  }

  commit(): { status: number | null; text: string } {
    this.git('add', '-A');
    return this.git('commit', '-qm', 'a change');
  }

  async init(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.heddle(['scan', 'init', '--no-progress', ...args]);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  read(name: string): string {
    return readFileSync(this.at(name), 'utf8');
  }

  #spawn(command: string, args: string[]): { status: number | null; text: string } {
    const { PATH, TMPDIR } = process.env;
    const env = {
      PATH,
      TMPDIR,
      HOME: this.path,
      npm_config_offline: 'true',
      npm_config_cache: this.at('node_modules/.cache'),
    };
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: this.path, env, encoding: 'utf8' });
    return { status, text: stdout + stderr };
  }
}

test('the hook refuses a commit with a new secret, and lets known ones and clean ones pass', async (t) => {
  const repository = new Repository(t, { 'src/old.env': `A=${key('a')}\nB=${key('b')}\n` });
  const done = await repository.init('--github-workflow');
  assert.match(done, /^2 findings in 3 files$/m);
  assert.match(done, /^✔ wrote \.heddle-baseline\.json: accepts the 2 findings of today$/m);
  assert.match(done, /^next: git add \.heddle-baseline\.json \.github\/workflows\/heddle-scan\.yml, and commit$/m);
  assert.ok((statSync(repository.at('.git/hooks/pre-commit')).mode & 0o111) !== 0);
  const first = repository.commit();
  assert.equal(first.status, 0, first.text);

  repository.write('src/new.env', `C=${key('c')}\n`);
  const refused = repository.commit();
  assert.equal(refused.status, 1, refused.text);
  assert.match(refused.text, /acme-key {2}Found a key of Acme\./);
  assert.doesNotMatch(refused.text, /old\.env/);
  repository.write('src/new.env', 'C=from-the-store\n');
  repository.write('src/old.env', `moved\nA=${key('a')}\nB=${key('b')}\n`);
  const clean = repository.commit();
  assert.equal(clean.status, 0, clean.text);
});

test('the jobs are valid YAML, and their commands fail for new secrets only', async (t) => {
  const repository = new Repository(t, {
    'old.env': `A=${key('a')}\n`,
    "it's/skipped.txt": key('d'),
    'damaged.rar': 'Rar!\x1a\x07\x01\x00 and nothing else',
  });
  await repository.init('--github-workflow', '--gitlab-job', '--exclude', "it's");
  const workflow = parse(repository.read('.github/workflows/heddle-scan.yml')) as {
    jobs: Record<string, { steps: { run?: string }[] }>;
  };
  const steps = Object.values(workflow.jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
  assert.deepEqual(parse(repository.read('.gitlab-ci.yml')), { include: [{ local: '.gitlab/heddle-scan.yml' }] });
  const job = parse(repository.read('.gitlab/heddle-scan.yml')) as Record<string, { script: string[] }>;
  const commands = [...steps, ...job['heddle-scan']!.script];
  assert.equal(commands.length, 2);
  const { version } = JSON.parse(readFileSync(join(MODULES, '@heddle/scan/package.json'), 'utf8')) as {
    version: string;
  };
  for (const command of commands) {
    assert.ok(command.startsWith(`npx --yes @heddle/scan@${version} . `), command);
    const { status, text } = repository.shell(command);
    assert.equal(status, 0, text);
    assert.match(text, /not everything was scanned completely/);
  }
  repository.write('new.env', `B=${key('b')}\n`);
  for (const command of commands) assert.equal(repository.shell(command).status, 1, command);
  assert.match(repository.read('heddle-scan.html'), /<h1>1 secret found<\/h1>/);
  assert.match(repository.read('heddle-scan.xml'), /failures="1"/);
});

test('a second run changes nothing, and a dry run writes nothing', async (t) => {
  const repository = new Repository(t, { 'old.env': `A=${key('a')}\n`, '.github/CODEOWNERS': '* @us\n' });
  const files = ['.heddle-baseline.json', '.git/hooks/pre-commit', '.github/workflows/heddle-scan.yml'];
  const dry = await repository.init('--dry-run');
  assert.match(dry, /^✔ would write \.git\/hooks\/pre-commit: refuses commits/m);
  assert.match(dry, /^ {4}npx --yes @heddle\/scan@\S+ --staged .* --baseline \.heddle-baseline\.json \|\| exit 1$/m);
  for (const file of files) assert.ok(!existsSync(repository.at(file)), file);
  await repository.init();
  const before = files.map((file) => repository.read(file));
  repository.write('new.env', `B=${key('b')}\n`);
  const again = await repository.init();
  assert.deepEqual(
    files.map((file) => repository.read(file)),
    before,
  );
  assert.equal(again.match(/^✔ unchanged /gm)?.length, 3);
});

test('existing hooks and jobs are left alone, with what to add to them', async (t) => {
  const repository = new Repository(t, { '.gitlab-ci.yml': 'stages: [test]\n' });
  const hook = '#!/bin/sh\nexit 0\n';
  repository.write('.git/hooks/pre-commit', hook);
  chmodSync(repository.at('.git/hooks/pre-commit'), 0o755);
  const done = await repository.init();
  assert.match(
    done,
    /^! left alone \.git\/hooks\/pre-commit: .*\n {2}add this line to the hook, which exists\n {4}npx /m,
  );
  assert.match(done, /^! left alone \.gitlab-ci\.yml: .*\n {2}add to its `include:`\n {4}include:\n/m);
  assert.deepEqual(
    [repository.read('.git/hooks/pre-commit'), repository.read('.gitlab-ci.yml')],
    [hook, 'stages: [test]\n'],
  );
  assert.match(done, /^✔ wrote \.heddle-baseline\.json: a baseline, empty so far$/m);
  // What it says is enough: the line works where it was added.
  const line = /^ {4}(npx .*)$/m.exec(done)![1]!;
  repository.write('.git/hooks/pre-commit', `#!/bin/sh\n${line}\nexit 0\n`);
  repository.write('new.env', `B=${key('b')}\n`);
  assert.equal(repository.commit().status, 1);
  assert.match(await repository.init(), /^✔ unchanged \.git\/hooks\/pre-commit/m);
});

test('hooks go where git looks for them, and pre-commit gets an entry', async (t) => {
  const own = new Repository(t);
  own.git('config', 'core.hooksPath', '.githooks');
  await own.init('--no-ci');
  own.write('new.env', `B=${key('b')}\n`);
  assert.ok(existsSync(own.at('.githooks/pre-commit')) && !existsSync(own.at('.git/hooks/pre-commit')));
  assert.equal(own.commit().status, 1);

  const outside = new Repository(t);
  outside.git('config', 'core.hooksPath', '/nonexistent/hooks');
  assert.match(
    await outside.init('--no-ci'),
    /^! left alone pre-commit: .*\n {2}core\.hooksPath leads out of the repository/m,
  );

  const framework = new Repository(t, { '.pre-commit-config.yaml': 'repos: []\n' });
  const done = await framework.init('--no-ci');
  const entry = done
    .split('\n')
    .filter((line) => line.startsWith('      '))
    .map((line) => line.slice(4));
  const [added] = parse(entry.join('\n')) as { hooks: { id: string; entry: string }[] }[];
  assert.equal(added!.hooks[0]!.id, 'heddle-scan');
  framework.write('new.env', `B=${key('b')}\n`);
  framework.git('add', '-A');
  assert.equal(framework.shell(added!.hooks[0]!.entry).status, 1);
  assert.ok(!existsSync(framework.at('.git/hooks/pre-commit')));
});

test('what is no repository is refused', async (t) => {
  const directory = new ScanDirectory();
  t.after(() => directory.remove());
  const { code, stderr } = await directory.heddle(['scan', 'init']);
  assert.equal(code, 2);
  assert.match(stderr, /is not a git repository; run this in one, or make one with git init/);
});
