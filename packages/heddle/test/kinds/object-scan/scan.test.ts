/** One ObjectScan task on real files. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';

import type { ReportedFinding } from '@heddle/core/domain/finding';
import type { JsonObject } from '@heddle/base/json';
import type { ChunkKey, ScanBooks } from '@heddle/core/engine/port';
import type { ScanTaskResult } from '../../../src/kinds/object-scan/task-result.ts';
import { TestRegistry } from '@heddle/test-support/scan/image/registry';
import { runOnce, type RunOptions } from '../../support/dispatch/kind/running.ts';
import { scanKinds } from '../../support/kinds/object-scan/kinds.ts';
import { madeUpToken, Tree } from '../../support/kinds/object-scan/planted.ts';

describe('a task that scans', () => {
  let tree: Tree;

  before(() => {
    tree = new Tree({
      'app.env': `TOKEN=${madeUpToken(1)}\nAGAIN=${madeUpToken(1)}\nOTHER=${madeUpToken(2)}\n`,
      'docs/readme.md': 'nothing to see here\n',
    });
  });

  after(() => tree.remove());

  const chunks: (ChunkKey & { findings: readonly ReportedFinding[] })[] = [];
  const books = {
    putChunk: (key: ChunkKey, findings: readonly ReportedFinding[]) => {
      chunks.push({ ...key, findings });
      return Promise.resolve();
    },
  } as unknown as ScanBooks;

  async function scan(input: JsonObject, { root = tree.root, ...options }: RunOptions & { root?: string } = {}) {
    const { scan: definition } = scanKinds(root, books);
    const ran = await runOnce(definition, { input, ...options });
    return { ...ran, result: ran.completion.result as unknown as ScanTaskResult };
  }

  const sources = (path: string): JsonObject => ({ sources: [{ type: 'path', path }] });

  it('reports where secrets are, counts objects, and returns no secret', async () => {
    const { completion, result, counted } = await scan(sources(tree.root));
    assert.equal(completion.outcome, 'succeeded', completion.reason);
    assert.deepEqual(
      [result.outcome, result.objects, result.finding_count, result.problem_count],
      ['complete', 2, 2, 0],
    );
    const { metrics } = result;
    const { size } = statSync(join(tree.root, 'app.env'));
    const bytes = size + statSync(join(tree.root, 'docs/readme.md')).size;
    assert.deepEqual(metrics, {
      enumerate_count: metrics.enumerate_count,
      objects_discovered: 2,
      enumerate_backpressure: 0,
      fetch_sync_count: 2,
      bytes_fetched: bytes,
      scan_count: 2,
      bytes_scanned: bytes,
      objects_completed: 2,
    });
    assert.ok(metrics.enumerate_count > 0);
    const [first] = result.findings;
    assert.deepEqual([first!.path, first!.line, first!.occurrences], [join(tree.root, 'app.env'), 1, 2]);
    assert.match(first!.redacted, /^ghp_\*+$/);
    assert.match(first!.fingerprint, /^[0-9a-f]{32}$/);
    assert.deepEqual(first!.context, [
      { number: 1, text: 'TOKEN=ghp_***', mark: { start: 6, end: 13 } },
      { number: 2, text: 'AGAIN=ghp_***' },
      { number: 3, text: 'OTHER=ghp_***' },
    ]);
    assert.match(first!.secret_id!, /^[0-9a-f]{32}$/);
    assert.notEqual(first!.secret_id, result.findings[1]!.secret_id);
    const none = await scan({ ...sources(tree.root), options: { context_lines: 0 } });
    assert.deepEqual(none.result.findings[0]!.context, []);
    assert.doesNotMatch(JSON.stringify(completion), new RegExp(`${madeUpToken(1)}|${madeUpToken(2)}`));
    assert.equal(
      counted.reduce((sum, [successes]) => sum + successes, 0),
      2,
    );
  });

  it('accepts rules, exclusions and single files', async () => {
    const toml = `[[rules]]\nid = "made-up-word"\ndescription = "A word"\nregex = '''nothing to \\w+'''\nkeywords = ["nothing"]\n`;
    const own = await scan({ ...sources(tree.root), options: { rules: [{ name: 'own', toml }] } });
    assert.deepEqual(
      own.result.findings.map(({ rule_id, path }) => [rule_id, path.slice(tree.root.length)]),
      [['made-up-word', '/docs/readme.md']],
    );
    tree.write('rules/own.toml', toml);
    const file = await scan({
      ...sources(tree.root),
      options: { rules: [{ path: join(tree.root, 'rules/own.toml') }], include: ['*.md'] },
    });
    assert.equal(file.result.finding_count, 1);
    tree.delete('rules');
    const without = await scan({ ...sources(tree.root), options: { exclude: ['*.env'] } });
    assert.equal(without.result.finding_count, 0);
    const list = await scan({ sources: [{ type: 'list', paths: [join(tree.root, 'app.env')] }] });
    assert.equal(list.result.finding_count, 2);
    const broken = await scan({ ...sources(tree.root), options: { rules: [{ toml: '[[rules]]\nid = 7' }] } });
    assert.equal(broken.completion.outcome, 'failed');
  });

  it('is partially failed if something was not scanned completely, unless that is accepted', async () => {
    const whole = gzipSync(Buffer.from(`token = ${madeUpToken(9)}\n`.repeat(2000)));
    const cut = new Tree({ 'cut.gz': whole.subarray(0, whole.length - 20), 'fine.txt': 'fine' });
    const { completion, result } = await scan(sources(cut.root), { root: cut.root });
    assert.equal(completion.outcome, 'partially_failed');
    assert.match(completion.reason!, /^1 object was not scanned completely, the first: .*cut\.gz/);
    assert.deepEqual([result.outcome, result.problem_count, result.objects >= 2], ['incomplete', 1, true]);
    const code = result.problems[0]!.code;
    const accepted = await scan({ ...sources(cut.root), options: { accept: [code] } }, { root: cut.root });
    assert.deepEqual([accepted.completion.outcome, accepted.result.outcome], ['succeeded', 'complete']);
    cut.remove();
  });

  it('writes excess findings to chunks', async () => {
    const lines = Array.from({ length: 1300 }, (_, n) => `t${n} = "${madeUpToken(n)}"`);
    const many = new Tree({ 'many.txt': lines.join('\n') });
    chunks.length = 0;
    const { result, completion } = await scan(sources(many.root), { root: many.root, task: { attempt: 4 } });
    assert.equal(completion.outcome, 'succeeded', completion.reason);
    assert.equal(result.finding_count, 1300);
    assert.deepEqual([chunks.length, result.chunks, result.attempt], [2, 2, 4]);
    const all = [...chunks.flatMap(({ findings }) => findings), ...result.findings];
    assert.equal(new Set(all.map(({ fingerprint }) => fingerprint)).size, 1300);
    const alone = await runOnce(scanKinds(many.root, null).scan, { input: sources(many.root) });
    assert.equal(alone.completion.outcome, 'partially_failed');
    assert.match(alone.completion.reason!, /800 findings did not fit into the result/);
    many.remove();
  });

  it('reads only what is permitted', async () => {
    const outside = new Tree({ secret: madeUpToken(3) });
    symlinkSync(outside.root, join(tree.root, 'way-out'));
    for (const path of ['/etc', outside.root, join(tree.root, '..'), join(tree.root, 'way-out'), `${tree.root}-too`]) {
      const { completion } = await scan(sources(path));
      assert.equal(completion.outcome, 'failed', path);
      assert.match(completion.reason!, /may not be read: this process may scan .* \(HEDDLE_SCAN_ROOTS\)/, path);
    }
    const { completion, result } = await scan(sources(tree.root));
    assert.equal(completion.outcome, 'succeeded', 'a link is not followed');
    assert.equal(result.finding_count, 2);
    const { completion: bucket } = await scan({ sources: [{ type: 's3', bucket: 'any' }] });
    assert.match(bucket.reason!, /^s3:\/\/any\/ may not be read/);
    const rules = { ...sources(tree.root), options: { rules: [{ path: '/etc/passwd' }] } };
    assert.match((await scan(rules)).completion.reason!, /^\/etc\/passwd may not be read/);
    const none = await runOnce(scanKinds(join(tmpdir(), 'not-there'), null).scan, { input: sources(tree.root) });
    assert.match(none.completion.reason!, /may not be read/);
    tree.delete('way-out');
    outside.remove();
  });

  it('reports the faults of its input', async () => {
    const { completion } = await scan({
      sources: [{ type: 'path', paht: 'x' }, { type: 'ftp' }],
      options: { decode_depth: -1 },
    });
    assert.match(completion.reason!, /input\.sources\[0\]\.paht: is not a known member; did you mean "path"/);
    assert.match(
      completion.reason!,
      /input\.sources\[1\]\.type: must be "path", "git", "s3", "image" or "list", not "ftp"/,
    );
    assert.match(completion.reason!, /input\.options\.decode_depth: must be between 0 and 10, not -1/);
    const option = { sources: [{ type: 'git', repository: tree.root, revisions: ['--output=x'] }] };
    assert.match((await scan(option)).completion.reason!, /input\.sources\[0\]\.revisions: must be revisions/);
    const globs = { ...sources(tree.root), options: { exclude: ['**/*.{md,txt}', '*a*a*a*a*b'] } };
    assert.match(
      (await scan(globs)).completion.reason!,
      /options\.exclude: may have 3 asterisks in a name and 8 in all/,
    );
    assert.match((await scan({})).completion.reason!, /input\.sources: is required/);
  });

  it('reads the history of a repository, and names the commit', async () => {
    const repository = new Tree({ 'a.env': `TOKEN=${madeUpToken(5)}\n` });
    const git = (...args: string[]): void => {
      const identity = ['-c', 'user.name=Ann Example', '-c', 'user.email=ann@example.org'];
      execFileSync('git', ['-C', repository.root, ...identity, ...args], { stdio: 'ignore' });
    };
    git('init', '-q');
    git('add', '.');
    git('commit', '-q', '-m', `adds ${madeUpToken(5)}`);
    git('rm', '-q', 'a.env');
    git('commit', '-q', '-m', 'removes it');
    const input = { sources: [{ type: 'git', repository: repository.root }] };
    const { completion, result } = await scan(input, { root: repository.root });
    assert.equal(completion.outcome, 'succeeded', completion.reason);
    assert.deepEqual(
      result.findings.map(({ path, commit }) => [path === `commit:${commit!.id}`, commit!.author]),
      [
        [true, 'Ann Example'],
        [false, 'Ann Example'],
      ],
      'both the message and the file contain it',
    );
    assert.doesNotMatch(JSON.stringify(completion), new RegExp(madeUpToken(5)), 'the subject is redacted too');
    repository.remove();
  });

  it('ends when it is canceled', async () => {
    const large = new Tree(Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`f${n}`, 'x'.repeat(50_000)])));
    const controller = new AbortController();
    const running = scan(sources(large.root), { root: large.root, host: { signal: controller.signal } });
    setImmediate(() => controller.abort(new Error('it was canceled')));
    const { completion } = await running;
    assert.deepEqual([completion.outcome, completion.reason], ['failed', 'it was canceled']);
    large.remove();
  });
});

describe('a task that scans an image', () => {
  it('finds secrets in layers, of the repositories that it may read', async () => {
    const layer = new Tree({ 'app/settings.env': `TOKEN=${madeUpToken(1)}\n` });
    const blob = gzipSync(execFileSync('tar', ['-c', 'app'], { cwd: layer.root }));
    const config = Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', config: {}, history: [] }));
    const manifest = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: 'application/vnd.oci.image.manifest.v1+json',
        config: {
          mediaType: 'application/vnd.oci.image.config.v1+json',
          digest: digestOf(config),
          size: config.length,
        },
        layers: [
          { mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', digest: digestOf(blob), size: blob.length },
        ],
      }),
    );
    const blobs = new Map([config, blob].map((each) => [digestOf(each), each]));
    const registry = new TestRegistry({ blobs, tags: { '1': manifest } });
    await registry.start();
    try {
      const { scan: definition } = scanKinds(`image:${registry.host}/team`, null);
      const input = { sources: [{ type: 'image', images: [`${registry.host}/team/app:1`] }] };
      const { completion } = await runOnce(definition, { input });
      assert.equal(completion.outcome, 'succeeded', completion.reason);
      const { findings } = completion.result as unknown as ScanTaskResult;
      assert.deepEqual(
        findings.map(({ path }) => path.replace(/^.*!/, '')),
        ['app/settings.env'],
      );
      const refused = await runOnce(definition, { input: { sources: [{ type: 'image', images: ['alpine:3'] }] } });
      assert.match(refused.completion.reason ?? '', /the image alpine:3 may not be read: .*HEDDLE_SCAN_ROOTS/);
    } finally {
      await registry.stop();
      layer.remove();
    }
  });
});

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
