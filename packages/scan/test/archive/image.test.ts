import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { buildTar, type TarEntry } from '../support/archive/corpus/tar.ts';
import { briefly, contents, readArchive } from '../support/archive/reading.ts';
import { buildImage, builtFiles, digestOf, layoutFiles, savedFiles } from '../support/image/images.ts';

const BASE: readonly TarEntry[] = [{ name: 'etc/key', content: 'KEY=one\n' }];
const IMAGE = buildImage({
  layers: [BASE, [{ name: 'etc/.wh.key' }, { name: 'app/run', content: 'run\n' }]],
  env: ['PATH=/bin', 'TOKEN=two'],
  labels: { owner: 'three' },
  history: ['ADD etc', 'RUN login --password four'],
});
const OTHER = buildImage({ layers: [BASE, [{ name: 'b', content: 'b\n' }]], env: ['TOKEN=five'] });

const shown = (digest: string): string => digest.slice(0, 'sha256:'.length + 12);
const configOf = ({ config }: { config: string }): string => `config (${shown(config)})`;

function saved(): Buffer {
  return buildTar(
    savedFiles([
      { image: IMAGE, tag: 'app:1' },
      { image: OTHER, tag: 'app:2' },
    ]),
  );
}

test('an archive of docker save is read by layers, with its configuration, and shared layers once', async () => {
  const read = await readArchive('image.tar', saved(), { nested: true });
  assert.deepEqual(read.problems, []);
  const [base, top, other] = [IMAGE.unpacked[0]!, IMAGE.unpacked[1]!, OTHER.unpacked[1]!].map((tar) =>
    shown(digestOf(tar)),
  );
  const { 'manifest.json': manifest, ...rest } = contents(read);
  assert.match(manifest!, /^\[\{"Config":/);
  const setting =
    '{\n  "architecture": "amd64",\n  "os": "linux",\n  "config": {\n    "Cmd": [\n      "/app"\n    ]\n  }\n}\n';
  assert.deepEqual(rest, {
    [`${configOf(IMAGE)}/env`]: 'PATH=/bin\nTOKEN=two\n',
    [`${configOf(IMAGE)}/labels.json`]: '{\n  "owner": "three"\n}\n',
    [`${configOf(IMAGE)}/history`]: 'ADD etc\nRUN login --password four\n',
    [`${configOf(IMAGE)}/settings.json`]: setting,
    [`layer 1 (${base!})!etc/key`]: 'KEY=one\n',
    [`layer 2 (${top!})!etc/.wh.key`]: '',
    [`layer 2 (${top!})!app/run`]: 'run\n',
    [`${configOf(OTHER)}/env`]: 'TOKEN=five\n',
    [`${configOf(OTHER)}/labels.json`]: '',
    [`${configOf(OTHER)}/history`]: '',
    [`${configOf(OTHER)}/settings.json`]: setting,
    [`layer 2 (${other!})!b`]: 'b\n',
  });
});

test('archives of tools that build or copy images are read like those of docker save', async () => {
  const crane = buildTar(builtFiles(IMAGE));
  const read = await readArchive('image.tar', crane, { nested: true });
  assert.deepEqual(read.problems, []);
  const names = read.entries.map(({ name }) => name);
  assert.equal(names[0], `${configOf(IMAGE)}/env`);
  assert.equal(names[4], `layer 1 (${shown(digestOf(IMAGE.unpacked[0]!))})!etc/key`);
  const jib = builtFiles(IMAGE).map((file) => {
    const text = Buffer.from(file.content as Buffer).toString('latin1');
    if (file.name === IMAGE.config) return { ...file, name: 'config.json' };
    return file.name === 'manifest.json' ? { ...file, content: text.replace(IMAGE.config, 'config.json') } : file;
  });
  assert.ok('config (config.json)/env' in contents(await readArchive('image.tar', buildTar(jib), { nested: true })));
});

test('an OCI layout in a tar archive is read alike; without random access its blobs keep their names', async () => {
  const tar = buildTar(layoutFiles([IMAGE]));
  const read = await readArchive('oci.tar', tar, { nested: true });
  assert.deepEqual(read.problems, []);
  const names = read.entries.map(({ name }) => name);
  assert.deepEqual(names.slice(4, 7), [
    `layer 1 (${shown(IMAGE.layers[0]!)})!etc/key`,
    `layer 2 (${shown(IMAGE.layers[1]!)})!etc/.wh.key`,
    `layer 2 (${shown(IMAGE.layers[1]!)})!app/run`,
  ]);
  const inOrder = await readArchive('oci.tar', tar, { nested: true, access: 'carry' });
  assert.ok(contents(inOrder)[`blobs/${IMAGE.layers[0]!.replace(':', '/')}!etc/key`] === 'KEY=one\n');
});

test('an archive of a directory with a layout is one of images; other archives of directories are not', async () => {
  const named = layoutFiles([IMAGE]).map((file) => ({ ...file, name: `./${file.name as string}` }));
  const read = await readArchive('a.tar', buildTar([{ name: './', type: '5' }, ...named]), { nested: true });
  assert.ok(`layer 1 (${shown(IMAGE.layers[0]!)})!etc/key` in contents(read));
  const other = await readArchive('a.tar', buildTar([{ name: './', type: '5' }, { name: './a' }, ...named]), {
    nested: true,
  });
  assert.ok(`./blobs/${IMAGE.layers[0]!.replace(':', '/')}!etc/key` in contents(other));
});

test('whatever is wrong with an archive of images, what it contains is read, and the rest is reported', async () => {
  const files = savedFiles([{ image: IMAGE, tag: 'app:1' }]);
  const without = (name: RegExp): Buffer => buildTar(files.filter((file) => !name.test(file.name as string)));
  const baseName = `${digestOf(IMAGE.unpacked[0]!).slice(7)}.tar`;
  const layer = `layer 1 (${shown(digestOf(IMAGE.unpacked[0]!))})`;
  const lacking = await readArchive('a.tar', without(new RegExp(baseName)), { nested: true });
  assert.deepEqual(briefly(lacking.problems), [`malformed_archive skipped a.tar!${layer}`]);
  const unknown = await readArchive('a.tar', without(/json$/), { nested: true });
  assert.deepEqual(unknown.problems, []);
  assert.equal(contents(unknown)[`${baseName}!etc/key`], 'KEY=one\n');
  for (const text of [
    '',
    '[',
    '[]',
    '{}',
    'null',
    '[{"Config":1,"Layers":[]}]',
    '[{"Config":"a","Layers":{}}]',
    '[null]',
  ]) {
    const odd = [...files.filter(({ name }) => name !== 'manifest.json'), { name: 'manifest.json', content: text }];
    const read = await readArchive('a.tar', buildTar(odd), { nested: true });
    assert.equal(contents(read)[`${baseName}!etc/key`], 'KEY=one\n', text);
  }
  // Links and names that lead elsewhere are names of this archive, or of nothing.
  const escaping = JSON.stringify([{ Config: '../../etc/passwd', Layers: ['/etc/passwd', 'link', baseName] }]);
  const hostile = buildTar([
    { name: baseName, content: IMAGE.unpacked[0]! },
    { name: 'link', type: '2', link: '/etc/passwd' },
    { name: 'manifest.json', content: escaping },
  ]);
  const read = await readArchive('a.tar', hostile, { nested: true });
  assert.ok(
    briefly(read.problems).every((problem) => /^(?:malformed_archive skipped|unsafe_name notice) /.test(problem)),
  );
  assert.equal(Object.values(contents(read)).filter((content) => content === 'KEY=one\n').length, 1);
});

test('an archive of images that ends anywhere is reported, and everything before the end is read', async () => {
  const whole = buildTar(layoutFiles([IMAGE]));
  for (let length = 512; length < whole.length - 1024; length += 211) {
    const read = await readArchive('a.tar', whole.subarray(0, length), { nested: true, format: 'tar' });
    assert.ok(read.problems.length > 0, `${length}`);
    assert.ok(
      read.problems.every(({ code }) => code === 'malformed_archive'),
      `${length}`,
    );
  }
});

test('the limits of archives hold for those of images', async () => {
  const bomb = buildImage({ layers: [[{ name: 'zeros', content: Buffer.alloc(32 * 1024 * 1024) }]] });
  const tar = buildTar(layoutFiles([bomb]));
  const read = await readArchive('a.tar', tar, { nested: true });
  assert.ok(briefly(read.problems).some((problem) => problem.startsWith('ratio_budget partial a.tar!layer 1')));
  const many = await readArchive('a.tar', saved(), { budgets: { entriesMax: 3 } });
  assert.deepEqual(briefly(many.problems), ['entry_count_budget partial a.tar']);
  const deep = await readArchive('a.tar.gz', gzipSync(saved()), { nested: true, budgets: { depthMax: 1 } });
  assert.ok(deep.problems.every(({ code }) => code === 'depth_budget'));
});
