import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { ended, type Ended } from '@heddle/test-support/cli/command-process';
import { assertSarif } from '@heddle/test-support/scan/report/sarif-structure';
import { MAIN, ScanDirectory, token } from '../support/cli/scan-process.ts';

let directory: ScanDirectory;

before(() => {
  directory = new ScanDirectory({
    'src/a.env': `first\ngrüße TOKEN=${token(1)} end\n`,
    'src/deep/b.env.gz': gzipSync(`x=${token(2)}\n`),
    'src/clean.txt': 'nothing\n',
    'clean/empty': '',
    'clean/words.txt': 'nothing at all\n',
    'broken/half.gz': gzipSync('y'.repeat(10_000)).subarray(0, 30),
  });
});

after(() => directory.remove());

const scan = (...args: string[]): Promise<Ended> => directory.scan(args);

const findingsOf = ({ json }: Ended): Record<string, unknown>[] => json.filter(({ type }) => type === 'finding');

describe('exit codes', () => {
  test('0 if nothing was found, even if there was no input', async () => {
    const [clean, empty, list] = await Promise.all([
      scan('clean'),
      scan('clean/empty', '--json'),
      directory.scan(['--files-from', '-', '--json'], ''),
    ]);
    assert.deepEqual([clean.code, empty.code, list.code], [0, 0, 0]);
    assert.match(clean.stdout, /^✔ no secrets in 2 objects/);
    assert.deepEqual([empty.lines.length, list.lines.length], [1, 1]);
  });

  test('1 if secrets were found; 3 if part of the input could not be scanned; findings take precedence', async () => {
    const [found, incomplete, both, tolerated] = await Promise.all([
      scan('src'),
      scan('broken'),
      scan('src', 'broken'),
      scan('broken', '--no-fail-on-incomplete'),
    ]);
    assert.deepEqual([found.code, incomplete.code, both.code, tolerated.code], [1, 3, 1, 0]);
    assert.match(incomplete.stdout, /damaged archives: 1/);
  });

  test('a staged secret counts, whatever the working tree has; an unstaged one does not', async () => {
    const repository = new ScanDirectory({ 'a.env': `TOKEN=${token(1)}\n` });
    const git = (...args: string[]): void => void execFileSync('git', ['-C', repository.path, ...args]);
    git('init', '-q');
    git('add', 'a.env');
    repository.write('a.env', 'clean\n');
    repository.write('b.env', `TOKEN=${token(2)}\n`);
    const found = await repository.scan(['--staged', '--json']);
    assert.deepEqual([found.code, findingsOf(found).map(({ path }) => path)], [1, ['a.env']]);
    git('add', 'a.env');
    assert.equal((await repository.scan(['--staged'])).code, 0);
    repository.remove();
  });

  test('the repository provides that to pre-commit', () => {
    const hooks = readFileSync(join(import.meta.dirname, '../../../../.pre-commit-hooks.yaml'), 'utf8');
    assert.match(hooks, /^ {2}entry: heddle scan --staged$/m);
    assert.match(hooks, /^ {2}pass_filenames: false$/m);
  });

  test('2 if the scan failed, before anything that was found', async () => {
    const missing = await scan('src', 'nowhere');
    assert.equal(missing.code, 2);
    assert.equal(missing.stderr, 'error[USAGE]: nowhere: no such file or directory\n');
    assert.equal(missing.stdout, '');
  });

  test('an archive over a limit: partial keeps the findings so far, skip excludes it, fail-run ends the scan', async () => {
    directory.write('over/big.gz', gzipSync(`${token(8)}\n${'z'.repeat(5000)}`));
    const under = (policy: string): Promise<Ended> =>
      scan('over', '--archive-policy', policy, '--archive-entry-bytes', '1k', '--json');
    const ran = await Promise.all(['partial', 'skip', 'fail-run'].map(under));
    assert.deepEqual(
      ran.map((each) => [each.code, findingsOf(each).length, each.json.at(-1)!['outcome']]),
      [
        [1, 1, 'incomplete'],
        [3, 0, 'incomplete'],
        [2, 0, 'aborted'],
      ],
    );
    const [partial, skip] = ran.map(({ json }) => json.filter(({ type }) => type === 'problem'));
    assert.deepEqual([partial![0]!['code'], partial![0]!['extent']], ['entry_bytes_budget', 'partial']);
    assert.deepEqual([skip![0]!['code'], skip![0]!['extent']], ['entry_bytes_budget', 'skipped']);
    assert.match(String(ran[2]!.json.at(-1)!['reason']), /over\/big\.gz!big: /);
  });

  test('2 if the disk is too full for the report', { skip: !existsSync('/dev/full') && 'no /dev/full' }, () => {
    const full = openSync('/dev/full', 'w');
    const args = ['scan', '--rules', 'rules.toml', '--threads', '1', '--no-progress', 'src'];
    const ran = spawnSync(process.execPath, [MAIN, ...args], {
      cwd: directory.path,
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    closeSync(full);
    assert.deepEqual(
      [ran.status, ran.stderr],
      [2, 'error[FAILED]: cannot write to standard output: the disk is full\n'],
    );
  });
});

describe('confidence', () => {
  const levels = new ScanDirectory({
    'rules.toml': ['low', 'medium', 'high']
      .map((level) => `[[rules]]\nid = "${level}"\nregex = '''${level}=x'''\nconfidence = "${level}"\n`)
      .join(''),
    'a.txt': 'low=x medium=x high=x\n',
    'low.txt': 'low=x\n',
  });
  after(() => levels.remove());

  test('findings below --confidence are counted, not reported; medium by default', async () => {
    const ran = await Promise.all(
      [[], ['low'], ['medium'], ['high']].map(([level]) =>
        levels.scan(['a.txt', '--json', ...(level === undefined ? [] : ['--confidence', level])]),
      ),
    );
    assert.deepEqual(
      ran.map((each) => [findingsOf(each).map(({ confidence }) => confidence), each.json.at(-1)!['below_confidence']]),
      [
        [['medium', 'high'], 1],
        [['low', 'medium', 'high'], 0],
        [['medium', 'high'], 1],
        [['high'], 2],
      ],
    );
  });

  test('a scan with nothing but uncertain findings succeeds, and says so', async () => {
    const ran = await levels.scan(['low.txt']);
    assert.equal(ran.code, 0);
    assert.match(
      ran.stdout,
      /^✔ no secrets in 1 object, .*\n {2}less certain, not reported: 1 finding \(see --confidence\)$/m,
    );
  });

  test('another level is refused', async () => {
    const ran = await levels.scan(['a.txt', '--confidence', 'sure']);
    assert.equal(ran.code, 2);
    assert.match(ran.stderr, /--confidence <level>.*low, medium, high/);
  });
});

describe('invalid input', () => {
  test('an invalid flag is reported in one line, with exit code 2', async () => {
    const ran = await scan('clean', '--threads', '0');
    assert.deepEqual([ran.code, ran.stdout], [2, '']);
    assert.match(ran.stderr, /^error\[USAGE\]: option '--threads <count>' argument '0' is invalid\..*\n$/);
  });

  test('invalid rules are rejected with their position', async () => {
    directory.write('lookahead.toml', "[[rules]]\nid = 'r'\nregex = '''a(?=b)'''\n");
    const regex = await directory.heddle(['scan', 'clean', '--rules', 'lookahead.toml']);
    assert.equal(regex.code, 2);
    assert.match(regex.stderr, /rule r: regex: /);
    assert.doesNotMatch(regex.stderr, /\n +at /, 'no stack');
  });

  test('an unreadable file is reported, and the others are scanned', async (t) => {
    if (process.getuid?.() === 0) {
      t.skip('root reads every file');
      return;
    }
    const own = new ScanDirectory({ 'in/secret.txt': token(1), 'in/other.txt': token(2) });
    chmodSync(own.at('in/secret.txt'), 0);
    const ran = await own.scan(['in', '--json']);
    assert.equal(findingsOf(ran).length, 1);
    assert.equal(ran.json.find(({ type }) => type === 'problem')?.['code'], 'unreadable');
    own.remove();
  });

  test('hostile names, and names that are not text, are printed safely', async () => {
    const own = new ScanDirectory({ 'in/\u001b[2J\u202egnp\n.txt': token(1) });
    own.write('in/plain', '');
    symlinkSync('nowhere', own.at('in/link'));
    const ran = await own.scan(['in']);
    assert.equal(ran.code, 1);
    assert.doesNotMatch(ran.stdout, /[\u001b\u202e]/);
    assert.match(ran.stdout, /in\/\\e\[2J\\u202egnp\\n\.txt:1:1/);
    own.remove();
  });
});

describe('reports', () => {
  test('text has place, rule and fingerprint; the secret is redacted everywhere', async () => {
    const ran = await scan('src');
    assert.match(ran.stdout, /^src\/a\.env\n {2}test-token {2}A token of these tests\.\n {4}at +src\/a\.env:2:15\n/);
    assert.match(ran.stdout, /src\/deep\/b\.env\.gz!b\.env:1:3/);
    for (const seed of [1, 2]) assert.equal(`${ran.stdout}${ran.stderr}`.includes(token(seed).slice(8)), false);
  });

  test('--json writes only one object per line, redacted; other reports are in their files', async () => {
    const files = ['sarif=r.sarif', 'junit=r.xml', 'text=r.txt'].flatMap((report) => ['--report', report]);
    const ran = await scan('src', '--json', ...files);
    assert.equal(ran.code, 1);
    assert.deepEqual(
      ran.json.map(({ type, path }) => [type, path]),
      [
        ['finding', 'src/a.env'],
        ['finding', 'src/deep/b.env.gz!b.env'],
        ['summary', undefined],
      ],
    );
    assert.equal(ran.stdout.includes(token(1).slice(8)), false);
    const sarif: unknown = JSON.parse(readFileSync(directory.at('r.sarif'), 'utf8'));
    assertSarif(sarif);
    const { region } = sarif.runs[0]!.results[0]!.locations[0]!.physicalLocation;
    assert.deepEqual([region.startLine, region.startColumn], [2, 13], 'ü and ß are two bytes and one column each');
    assert.match(readFileSync(directory.at('r.xml'), 'utf8'), /failures="2"/);
    assert.match(readFileSync(directory.at('r.txt'), 'utf8'), /✖ 2 secrets/);
    assert.deepEqual(
      readdirSync(directory.path).filter((name) => name.includes('partial')),
      [],
    );
  });

  test('--output writes the report, readable only by its owner if secrets are unredacted; the terminal shows a summary', async () => {
    const ran = await scan('src', '--output', 'clear.jsonl', '--format', 'jsonl', '--show-secrets');
    assert.equal(ran.stdout, '');
    assert.match(ran.stderr, /✖ 2 secrets/);
    assert.match(readFileSync(directory.at('clear.jsonl'), 'utf8'), new RegExp(token(1)));
    assert.equal(statSync(directory.at('clear.jsonl')).mode & 0o777, 0o600);
  });

  test('--quiet prints only findings', async () => {
    const found = await scan('src', '--quiet');
    assert.doesNotMatch(found.stdout, /✖|next/);
    assert.equal(found.stderr, '');
  });

  test("the scan's own output is not scanned", async () => {
    const own = new ScanDirectory({ 'in/a.txt': token(1) });
    const args = [
      '.',
      '--json',
      '--show-secrets',
      '--report',
      'jsonl=in/out.jsonl',
      '--write-baseline',
      'in/base.json',
    ];
    for (let round = 0; round < 2; round += 1) {
      const ran = await own.scan(args);
      assert.deepEqual(
        findingsOf(ran).map(({ path }) => path),
        ['in/a.txt'],
      );
    }
    own.remove();
  });
});

describe('baselines and suppressions', () => {
  test('findings of a baseline are known; a further occurrence is new; missing ones are counted', async () => {
    const own = new ScanDirectory({ 'in/a.txt': `${token(1)}\n`, 'in/b.txt': `${token(2)}\n` });
    assert.equal((await own.scan(['in', '--write-baseline', 'base.json'])).code, 1);
    assert.equal((await own.scan(['in', '--baseline', 'base.json'])).code, 0);
    own.write('in/a.txt', `\n\n${token(1)}\nagain ${token(1)}\n`);
    own.write('in/b.txt', '');
    const ran = await own.scan(['in', '--baseline', 'base.json', '--json']);
    assert.equal(ran.code, 1);
    assert.deepEqual(
      findingsOf(ran).map(({ path, line }) => [path, line]),
      [['in/a.txt', 4]],
    );
    assert.deepEqual(ran.json[ran.json.length - 1]!['baseline'], { known: 1, gone: 1 });
    own.remove();
  });

  test('.heddleignore in the scanned directory suppresses, and is reported; --no-config ignores it', async () => {
    const own = new ScanDirectory({ 'in/a.txt': `${token(1)}\n` });
    const fingerprint = String(findingsOf(await own.scan(['in', '--json']))[0]!['fingerprint']);
    own.write('in/.heddleignore', `${fingerprint} # a test\nnonsense\n`);
    const [exempt, strict] = await Promise.all([own.scan(['in']), own.scan(['in', '--no-config'])]);
    assert.deepEqual([exempt.code, strict.code], [0, 1]);
    assert.match(exempt.stderr, /findings listed in in\/\.heddleignore are suppressed/);
    assert.match(exempt.stderr, /\.heddleignore, line 2: expected a fingerprint/);
    assert.match(exempt.stdout, /ignored by fingerprint: 1 finding/);
    own.remove();
  });

  test('rules in the scanned directory are used and reported; --no-config ignores them', async () => {
    const own = new ScanDirectory({ 'in/a.txt': `${token(1)}\n` });
    own.write('in/.gitleaks.toml', readFileSync(own.at('rules.toml')));
    const [used, without] = await Promise.all([
      own.heddle(['scan', 'in', '--json']),
      own.heddle(['scan', 'in', '--json', '--no-config', '--disable', 'generic-api-key']),
    ]);
    assert.equal(findingsOf(used)[0]!['rule_id'], 'test-token');
    assert.match(used.stderr, /rules: in\/\.gitleaks\.toml/);
    assert.equal(
      findingsOf(without).some(({ rule_id }) => rule_id === 'test-token'),
      false,
    );
    own.remove();
  });
});

describe('sources', () => {
  test('standard input, a list that ends names with NUL, globs', async () => {
    const [stdin, list, excluded, included] = await Promise.all([
      directory.scan(['-', '--json'], `a\n${token(5)}`),
      directory.scan(['-0', '--files-from', '-', '--json'], 'src/a.env\0src/none\0'),
      scan('src', '--exclude', 'deep', '--json'),
      scan('src', '--include', '*.gz', '--json'),
    ]);
    assert.deepEqual(
      [stdin, list, excluded, included].map((ran) => findingsOf(ran).map(({ path }) => path)),
      [['stdin'], ['src/a.env'], ['src/a.env'], ['src/deep/b.env.gz!b.env']],
    );
    assert.equal(list.json.find(({ type }) => type === 'problem')?.['code'], 'vanished');
  });

  test('a closed reader ends the scan silently', async () => {
    const own = new ScanDirectory();
    for (let index = 0; index < 400; index += 1) own.write(`in/${index}.txt`, `${token(index)}\n`.repeat(50));
    const child = own.start('in', '--no-progress');
    await once(child.stdout!, 'data');
    child.stdout!.destroy();
    const ran = await ended(child, '');
    assert.equal(ran.stderr, '');
    assert.equal(ran.code, 1);
    own.remove();
  });

  test('Ctrl-C ends it cleanly: 130, skipped input is reported, a report in a file is marked as unsuccessful', async () => {
    const child = directory.start('-', 'src', '--report', 'sarif=cut.sarif');
    const running = ended(child);
    // It waits for the end of its input, which never arrives.
    child.stdin!.write('a\n');
    await directory.under(child);
    child.kill('SIGINT');
    const ran = await running;
    assert.equal(ran.code, 130, ran.stderr);
    assert.match(ran.stderr, /Interrupted: .* --state FILE/);
    const sarif: unknown = JSON.parse(readFileSync(directory.at('cut.sarif'), 'utf8'));
    assertSarif(sarif);
    assert.equal(sarif.runs[0]!.invocations[0]!.executionSuccessful, false);
  });
});

describe('resuming', () => {
  test('the same command resumes after Ctrl-C: everything is reported once; another command is rejected', async () => {
    const own = new ScanDirectory();
    const files = 600;
    for (let index = 0; index < files; index += 1)
      own.write(`in/${index}.txt`, `${'x\n'.repeat(2000)}${token(index)}\n`);
    // Read last and silent: the scan cannot complete before it is stopped.
    execFileSync('mkfifo', [own.at('pipe')]);
    const args = ['in', 'pipe', '--state', 'in/scan.state', '--report', 'sarif=in/out.sarif', '--json'];
    const child = own.start(...args);
    const first = ended(child);
    await once(child.stdout!, 'data');
    child.kill('SIGINT');
    const cut = await first;
    assert.equal(cut.code, 130, cut.stderr);
    assert.match(cut.stderr, /The same command resumes from in\/scan\.state/);
    assert.equal(statSync(own.at('in/scan.state')).mode & 0o777, 0o600);
    const [rest] = await Promise.all([own.scan(args, ''), writeFile(own.at('pipe'), '')]);
    assert.equal(rest.code, 1, rest.stderr);
    const paths = findingsOf(rest).map(({ path }) => String(path));
    assert.equal(new Set(paths).size, files);
    assert.equal(paths.length, files);
    const other = await own.scan([...args, '--decode-depth', '0'], '');
    assert.equal(other.code, 2, other.stderr);
    assert.doesNotMatch(other.stderr, /\n +at /, 'no stack');
    own.remove();
  });
});

describe('rules', () => {
  test('are listed as a table and as JSON; flags select among them', async () => {
    const [table, own] = await Promise.all([
      directory.heddle(['scan', 'rules']),
      directory.heddle(['scan', 'rules', '--rules', 'rules.toml', '--json']),
    ]);
    assert.match(table.stdout, /^RULE +DESCRIPTION/);
    assert.ok(table.lines.length > 100, `${table.lines.length} lines`);
    assert.deepEqual(
      (JSON.parse(own.stdout) as { id: string }[]).map(({ id }) => id),
      ['test-token'],
    );
  });

  test('a rule file is checked completely, and each fault has its position', async () => {
    directory.write(
      'faults.toml',
      "[[rules]]\nid = 'a'\nregex = '''x(?=y)'''\n[[rules]]\nid = 'b'\nregex = '''(a'''\ncolour = 1\n",
    );
    const [bad, good] = await Promise.all([
      directory.heddle(['scan', 'rules', 'test', 'faults.toml', '--json']),
      directory.heddle(['scan', 'rules', 'test', 'rules.toml']),
    ]);
    const verdict = JSON.parse(bad.stdout) as { ok: boolean; faults: string[]; warnings: string[] };
    assert.deepEqual([bad.code, good.code, verdict.ok], [2, 0, false]);
    assert.equal(verdict.faults.length, 2, verdict.faults.join('\n'));
    assert.match(verdict.faults[0]!, /faults\.toml: rule a: regex: character \d+: /);
    assert.match(verdict.warnings.join('\n'), /colour/);
    assert.match(good.stdout, /1 rule, no faults/);
  });

  test('a directory with the name of a command is written with ./', async () => {
    mkdirSync(directory.at('rules'), { recursive: true });
    assert.equal((await scan('./rules')).code, 0);
  });
});
