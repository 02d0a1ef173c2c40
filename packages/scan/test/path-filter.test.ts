import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathFilter } from '../src/path-filter.ts';

const FITS: readonly [glob: string, fits: string[], not: string[]][] = [
  ['*.env', ['a.env', 'x/y/.env', 'a.zip!b.env'], ['a.env.txt', 'env']],
  ['node_modules', ['node_modules/a/b', 'x/node_modules/c', 'node_modules'], ['my_node_modules/a', 'node_modules2']],
  ['build/', ['build/a', 'x/build/b'], ['builds/a']],
  ['/src/*.ts', ['src/a.ts', '/src/a.ts'], ['x/src/a.ts', 'src/b/a.ts']],
  ['src/**/test', ['src/test/a', 'src/a/b/test/c'], ['srcs/test']],
  ['**/*.min.js', ['a.min.js', 'b/c/a.min.js'], ['a.js']],
  ['a?c', ['abc', 'x/abc'], ['a/c', 'abbc']],
  ['[a-c].txt', ['b.txt'], ['d.txt']],
  ['[!a-c].txt', ['d.txt'], ['a.txt']],
  ['*.{png,jpg}', ['a.png', 'b/c.jpg'], ['a.gif']],
  ['a+(b).txt', ['a+(b).txt'], ['aab.txt']],
  ['./docs', ['docs/a.md'], ['adocs/a.md']],
];

test('globs match names, directories and everything below them', () => {
  for (const [glob, fits, not] of FITS) {
    const passes = pathFilter({ include: [], exclude: [glob] });
    for (const path of fits) assert.equal(passes(path), false, `${glob} fits ${path}`);
    for (const path of not) assert.equal(passes(path), true, `${glob} does not fit ${path}`);
  }
});

test('includes select, excludes remove from the selection', () => {
  const passes = pathFilter({ include: ['src', '*.md'], exclude: ['*.test.ts', 'secret'] });
  assert.ok(passes('src/a.ts') && passes('x/readme.md'));
  assert.ok(!passes('src/a.test.ts') && !passes('lib/a.ts') && !passes('src/secret/a.ts'));
  assert.ok(pathFilter({ include: [], exclude: [] })('anything'));
});

test('globs with many wildcards take no longer than their length and that of the path', () => {
  const path = `${'a'.repeat(4_000)}/${'a'.repeat(4_000)}`;
  for (const glob of ['*a'.repeat(50) + 'b', '**a'.repeat(50) + 'b', '{a,{a,a}*}'.repeat(20) + 'b']) {
    assert.equal(pathFilter({ include: [glob], exclude: [] })(path), false, glob);
    assert.equal(pathFilter({ include: [glob], exclude: [] })(`${path}b`), true, glob);
  }
});

test('sets, escapes and unbalanced braces mean the same as in a shell', () => {
  const matches = (glob: string, path: string): boolean => pathFilter({ include: [glob], exclude: [] })(path);
  assert.ok(matches('[]a].x', '].x') && matches('a[b', 'a[b') && matches('a{b', 'a{b') && matches('a,b}', 'a,b}'));
  assert.ok(matches('\\*.x', '*.x') && !matches('\\*.x', 'a.x') && !matches('a[!b]c', 'a/c'));
  assert.ok(matches('{a,b{c,d}e}f', 'bdef') && matches('{a,b{c,d}e}f', 'af') && !matches('{a,b{c,d}e}f', 'bef'));
});
