import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';

import { withoutOwnFiles } from '../../src/command/own-files.ts';
import type { ScanOptions } from '../../src/options.ts';
import { pathFilter } from '../../src/path-filter.ts';
import { partialName } from '../../src/report/output-file.ts';

const OPTIONS = { exclude: ['*.log'], include: [] } as unknown as ScanOptions;

function passes(files: string[], directories: string[]): (path: string) => boolean {
  return pathFilter(withoutOwnFiles(OPTIONS, files, directories));
}

for (const [directory, file, path] of [
  ['.', 'out.json', 'out.json'],
  ['src', 'src/deep/out.json', 'src/deep/out.json'],
  ['src', resolve('src/out.json'), 'src/out.json'],
  ['../else', '../else/out.json', '../else/out.json'],
  ['/srv/data', '/srv/data/out.json', '/srv/data/out.json'],
  ['.', 'o[u]t*{a,b}\\?.json', 'o[u]t*{a,b}\\?.json'],
] as const) {
  test(`${file} is excluded from a scan of ${directory}, and nothing else is`, () => {
    const filter = passes([file], [directory]);
    const [folder, name] = [path.slice(0, path.lastIndexOf('/') + 1), path.slice(path.lastIndexOf('/') + 1)];
    assert.equal(filter(path), false);
    assert.equal(filter(`${folder}${partialName(name, '4711')}`), false);
    for (const other of [`${folder}${name}x`, `${folder}other.json`, `${folder}deeper/${name}`, `x${name}`]) {
      assert.equal(filter(other), true, other);
    }
    assert.equal(filter('a.log'), false, 'what was asked for holds as well');
  });
}

test('files elsewhere add nothing', () => {
  assert.equal(withoutOwnFiles(OPTIONS, ['/tmp/out.json', '../out.json'], ['.']), OPTIONS);
});
