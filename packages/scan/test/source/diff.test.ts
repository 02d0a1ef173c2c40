/** What a diff adds: each line at its number in the new version, all others empty. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';

import { DiffParser } from '../../src/source/diff/diff-parser.ts';
import { openOpener } from '../../src/source/open-opener.ts';
import { openSource } from '../../src/source/open-source.ts';
import { conforms, listAll, readAndClose } from '../support/source/conformance.ts';
import { commit, git, newRepository } from '../support/source/repository.ts';
import { makeTree, temporaryDirectory } from '../support/source/tree.ts';

const root = temporaryDirectory();
let files = 0;

function keep(diff: string | Buffer): { type: 'diff'; name: string; file: string } {
  files += 1;
  const file = join(root, `${files}.diff`);
  writeFileSync(file, diff);
  return { type: 'diff', name: file, file };
}

/** The files of a diff with what it adds to them, in order. */
async function addedBy(diff: string | Buffer): Promise<[path: string, text: string][]> {
  const spec = keep(diff);
  const source = await openSource(spec);
  const opener = await openOpener(spec);
  const { objects } = await listAll(source);
  const added: [string, string][] = [];
  for (const object of objects) added.push([object.path, await readAndClose(await opener.open(object))]);
  await source.close();
  await opener.close();
  return added;
}

function diffOf(before: string, after: string, ...options: string[]): string {
  const directory = join(root, `pair${(files += 1)}`);
  mkdirSync(directory);
  writeFileSync(join(directory, 'a'), before);
  writeFileSync(join(directory, 'b'), after);
  try {
    return execFileSync('git', ['diff', '--no-index', ...options, 'a', 'b'], { cwd: directory, encoding: 'utf8' });
  } catch (error) {
    // It exits with 1 if they differ.
    return (error as { stdout: string }).stdout;
  }
}

/** Lines that look like parts of a diff, too. */
const line = fc.constantFrom(
  '',
  'x',
  'y',
  '+x',
  '-y',
  ' z',
  '@@ -1 +1 @@',
  '--- a/x',
  '+++ b/x',
  '\\ No',
  'diff --git a/x b/x',
);
const text = fc
  .tuple(fc.array(line, { maxLength: 30 }), fc.boolean())
  .map(([lines, ends]) => lines.join('\n') + (ends && lines.length > 0 ? '\n' : ''));

const numberOfRuns = Number(process.env['HEDDLE_PROPERTY_RUNS'] ?? 60);

describe('diff source', () => {
  it('gives each added line its number, whatever the lines say', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, fc.nat({ max: 4 }), async (before, after, context) => {
        const diff = diffOf(before, after, `-U${context}`, '--minimal');
        const [file] = await addedBy(diff);
        const kept = (file?.[1] ?? '').split('\n');
        const lines = after.split('\n');
        for (const [index, found] of kept.entries()) assert.ok(found === '' || found === lines[index], diff);
        const isAdded = (wanted: string): number => kept.filter((found) => found === wanted).length;
        const marked = diff
          .split('\n')
          .slice(4)
          .filter((each) => each.startsWith('+') && each !== '+');
        const counted = new Set(marked.map((each) => each.slice(1)));
        for (const wanted of counted) {
          assert.equal(isAdded(wanted), marked.filter((each) => each === `+${wanted}`).length, diff);
        }
      }),
      { numRuns: numberOfRuns },
    );
  });

  it('does not depend on how the diff is cut into pieces', () => {
    const diff = diffOf('a\nb\nc\nd\ne\nf\ng\nh\n', 'a\nB\nc\nd\ne\nf\ng\nnew\nh', '-U1');
    const events = (pieces: readonly Uint8Array[]): string => {
      const seen: string[] = [];
      const parser = new DiffParser({
        file: (path, from) => seen.push(`<file ${path} ${from}>`),
        hunk: (number) => seen.push(`<hunk ${number}>`),
        unchanged: () => seen.push('<unchanged>'),
        added: (piece) => seen.push(Buffer.from(piece).toString()),
        addedEnd: () => seen.push('<end>'),
      });
      for (const piece of pieces) parser.push(piece);
      parser.end();
      return seen.join('');
    };
    const bytes = Buffer.from(diff);
    const whole = events([bytes]);
    assert.match(whole, /<file b 0><hunk 1><unchanged>B<end><unchanged><hunk 7><unchanged>new<end>h<end>$/);
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat({ max: bytes.length })), (cuts) => {
        const places = [0, ...cuts.sort((x, y) => x - y), bytes.length];
        assert.equal(events(places.slice(1).map((to, i) => bytes.subarray(places[i], to))), whole);
      }),
      { numRuns: numberOfRuns },
    );
  });

  it('reads logs, merges, and paths as git quotes them', async () => {
    const repository = newRepository();
    commit(repository, 'first', { 'ü "q"\t.txt': 'one\n', gone: 'x\n', kept: 'a\nb\n' });
    git(repository, 'checkout', '-q', '-b', 'side');
    commit(repository, 'side', { kept: 'a\nside\n' });
    git(repository, 'checkout', '-q', 'main');
    commit(repository, 'main', { kept: 'a\nmain\n' });
    git(repository, 'rm', '-q', 'gone');
    git(repository, 'commit', '-q', '-m', 'removed');
    git(repository, 'merge', '-q', '--no-commit', '-s', 'ours', 'side');
    makeTree(repository, { kept: 'a\nboth\n' });
    git(repository, 'commit', '-q', '-a', '-m', 'merged');
    assert.deepEqual(await addedBy(git(repository, 'log', '-p', '-c', '--reverse', '--topo-order')), [
      ['gone', 'x\n'],
      ['kept', 'a\nb\n'],
      ['ü "q"\t.txt', 'one\n'],
      ['kept', '\nmain\n'],
      ['kept', '\nside\n'],
      ['kept', '\nboth\n'],
    ]);
  });

  it('reads diffs without prefixes, of other programs, and with carriage returns', async () => {
    assert.deepEqual(await addedBy('--- old/x\t2026-01-01\n+++ new/x\t2026-01-02\n@@ -1 +1,2 @@\n x\n+y\n'), [
      ['new/x', '\ny\n'],
    ]);
    assert.deepEqual(await addedBy('diff --git x x\n--- x\n+++ x\r\n@@ -0,0 +3 @@\n+y\r\n'), [['x', '\n\ny\r\n']]);
    assert.deepEqual(await addedBy('Subject: nothing\n\n+++ not a diff\n@@ -1 +1 @@\n'), []);
    assert.deepEqual(await addedBy(''), []);
  });

  it('keeps memory and output bounded, whatever numbers a diff states', async () => {
    const [file] = await addedBy('--- a\n+++ b\n@@ -1 +4000000000,2 @@\n+x\n+y\n');
    assert.equal(file![1].length, 16 * 1024 * 1024 - 1 + 'x\ny\n'.length);
  });

  const many = Array.from({ length: 25 }, (_, i) => `--- a/f${i}\n+++ b/f${i}\n@@ -1 +1 @@\n-x\n+${i}\n`).join('');
  conforms({ name: 'diff', open: () => openSource(keep(many)), objects: 25 });
});
