import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it, test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';

import { systemClock } from '@heddle/base/clock';
import { seededRandom } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';
import type { SourceSpec } from '../../src/options.ts';
import type { Finding } from '../../src/result.ts';
import { startScan } from '../../src/scan.ts';
import { credentialsOf } from '../../src/source/image/credentials.ts';
import { parseReference } from '../../src/source/image/reference.ts';
import { openSource } from '../../src/source/open-source.ts';
import { buildTar } from '../support/archive/corpus/tar.ts';
import {
  buildImage,
  buildIndex,
  builtFiles,
  layoutFiles,
  savedFiles,
  writeLayout,
  type BuiltImage,
} from '../support/image/images.ts';
import { TestRegistry, type RegistryOptions } from '@heddle/test-support/scan/image/registry';
import { optionsFor, scan, temporaryFolder, write } from '../support/scan-fixture.ts';
import { conforms, listAll } from '../support/source/conformance.ts';

type ImageSpec = Extract<SourceSpec, { type: 'image' }>;

const key = (number: number): string => `MADEUP-${String(100_000 + number)}`;
const random = seededRandom(7);
const noise = (bytes: number): string =>
  Array.from({ length: bytes }, () => Math.floor(random.next() * 16).toString(16)).join('');

const IMAGE = buildImage({
  layers: [
    [{ name: 'etc/key', content: key(1) }],
    [{ name: 'etc/.wh.key' }, { name: 'app/key', content: `${noise(200_000)} ${key(2)}` }],
  ],
  env: [`TOKEN=${key(3)}`],
  history: [`RUN login ${key(4)}`],
});
const ARM = buildImage({ layers: [[{ name: 'etc/arm', content: key(5) }]], architecture: 'arm64' });
const INDEX = buildIndex([
  { image: IMAGE, platform: { os: 'linux', architecture: 'amd64' } },
  { image: ARM, platform: { os: 'linux', architecture: 'arm64', variant: 'v8' } },
]);
const KEYS = [3, 4, 1, 2].map(key);

// Docker's file of credentials is never that of the user who runs the tests.
process.env['DOCKER_CONFIG'] = '/nonexistent';
process.env['REGISTRY_AUTH_FILE'] = '/nonexistent';
delete process.env['DOCKER_AUTH_CONFIG'];

const started: TestRegistry[] = [];
after(() => Promise.all(started.map((registry) => registry.stop())));

async function registryOf(
  images: readonly BuiltImage[],
  tags: Record<string, Buffer>,
  options: RegistryOptions = {},
): Promise<TestRegistry> {
  const registry = new TestRegistry({ blobs: new Map(images.flatMap(({ blobs }) => [...blobs])), tags }, options);
  await registry.start();
  started.push(registry);
  return registry;
}

const manifestOf = (image: BuiltImage): Buffer => image.blobs.get(image.manifest)!;
const plain = await registryOf([IMAGE, ARM], { '1': manifestOf(IMAGE), all: INDEX });

const specOf = (registry: TestRegistry, tag: string, changes: Partial<ImageSpec> = {}): ImageSpec => ({
  type: 'image',
  images: [`${registry.host}/team/app:${tag}`],
  ...changes,
});

const secretsIn = ({ findings }: { findings: readonly Finding[] }): string[] => findings.map(({ secret }) => secret);
const scanImage = (spec: ImageSpec): ReturnType<typeof scan> => scan(optionsFor('', { sources: [spec] }));

describe('images of a registry', () => {
  conforms({ name: 'registry', open: () => openSource(specOf(plain, '1')), objects: 6 });

  it('are scanned by layer and configuration, even what a later layer deletes', async () => {
    const { findings, problems, summary } = await scanImage(specOf(plain, '1'));
    assert.deepEqual(problems, []);
    assert.equal(summary.outcome, 'complete');
    const name = `${plain.host}/team/app:1`;
    const digit = (digest: string): string => digest.slice(0, 19);
    assert.deepEqual(
      findings.map(({ path, secret }) => `${path} ${secret}`),
      [
        `${name}!config (${digit(IMAGE.config)})/env ${key(3)}`,
        `${name}!config (${digit(IMAGE.config)})/history ${key(4)}`,
        `${name}!layer 1 (${digit(IMAGE.layers[0]!)})!etc/key ${key(1)}`,
        `${name}!layer 2 (${digit(IMAGE.layers[1]!)})!app/key ${key(2)}`,
      ],
    );
  });

  it('are chosen by platform; blobs that several have are scanned once', async () => {
    assert.deepEqual(secretsIn(await scanImage(specOf(plain, 'all', { platform: 'linux/arm64' }))), [key(5)]);
    assert.deepEqual(secretsIn(await scanImage(specOf(plain, 'all', { platform: 'all' }))), [...KEYS, key(5)]);
    const twice = { ...specOf(plain, '1'), images: [`${plain.host}/team/app:1`, `${plain.host}/team/app:all`] };
    assert.deepEqual(secretsIn(await scanImage({ ...twice, platform: 'linux/amd64' })), KEYS);
    const none = await scanImage(specOf(plain, 'all', { platform: 'windows/amd64' }));
    assert.match(
      none.problems[0]!.message,
      /has no image for windows\/amd64; .*linux\/amd64, linux\/arm64\/v8, or all/,
    );
  });

  it('are read with a token or a password; an expired token is renewed', async (t) => {
    for (const scheme of ['bearer', 'basic'] as const) {
      const login = { scheme, user: 'ada', password: 'made-up' };
      const registry = await registryOf([IMAGE], { '1': manifestOf(IMAGE) }, { login });
      const denied = await scanImage(specOf(registry, '1'));
      assert.match(denied.problems[0]!.message, /denies access to team\/app; log in with docker or podman/);
      assert.deepEqual([denied.problems[0]!.code, denied.summary.outcome], ['source_failed', 'aborted']);
      const helped = { credHelpers: { [registry.host]: 'pass' } };
      setVariable(t, 'DOCKER_AUTH_CONFIG', JSON.stringify(helped));
      assert.match(
        (await scanImage(specOf(registry, '1'))).problems[0]!.message,
        /in the helper pass, which is not run/,
      );
      const auth = Buffer.from('ada:made-up').toString('base64');
      setVariable(t, 'DOCKER_AUTH_CONFIG', JSON.stringify({ auths: { [registry.host]: { auth } } }));
      assert.deepEqual(secretsIn(await scanImage(specOf(registry, '1'))), KEYS);
      const source = await openSource(specOf(registry, '1'));
      await listAll(source);
      registry.tokens.clear();
      assert.equal((await listAll(source)).objects.length, 6);
      await source.close();
      delete process.env['DOCKER_AUTH_CONFIG'];
    }
  });

  it('never send credentials to another host', async (t) => {
    const elsewhere: (string | undefined)[] = [];
    const store = await registryOf(
      [IMAGE],
      {},
      {
        onBlob: (request) => {
          elsewhere.push(request.headers.authorization);
          return false;
        },
      },
    );
    const registry = await registryOf(
      [IMAGE],
      { '1': manifestOf(IMAGE) },
      {
        login: { scheme: 'basic', user: 'ada', password: 'made-up' },
        onBlob: (request, response) => {
          response.writeHead(307, { location: `http://${store.host}${request.url!}` }).end();
          return true;
        },
      },
    );
    const auth = Buffer.from('ada:made-up').toString('base64');
    setVariable(t, 'DOCKER_AUTH_CONFIG', JSON.stringify({ auths: { [registry.host]: { auth } } }));
    assert.deepEqual(secretsIn(await scanImage(specOf(registry, '1'))), KEYS);
    assert.deepEqual([...new Set(elsewhere)], [undefined]);
  });

  it('are verified by digest, and transfers that break continue', async () => {
    let broken = 0;
    const registry = await registryOf(
      [IMAGE],
      { '1': manifestOf(IMAGE) },
      {
        onBlob: (request, response, content) => {
          const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
          const isCut = content.length > 50_000 && broken < 3;
          broken += isCut ? 1 : 0;
          response.writeHead(from > 0 ? 206 : 200, { 'content-length': content.length - from });
          if (isCut) response.write(content.subarray(from, from + 20_000), () => request.socket.end());
          else response.end(content.subarray(from));
          return true;
        },
      },
    );
    const whole = await scanImage(specOf(registry, '1'));
    assert.deepEqual([whole.problems, secretsIn(whole)], [[], KEYS]);
    assert.equal(broken, 3);
    const tampered = new Map([...IMAGE.blobs].map(([digest, content]) => [digest, swapped(content)]));
    const lying = new TestRegistry({ blobs: tampered, tags: { '1': manifestOf(IMAGE) } });
    await lying.start();
    started.push(lying);
    const { problems, summary } = await scanImage(specOf(lying, '1'));
    assert.equal(summary.outcome, 'incomplete');
    assert.ok(problems.some(({ message }) => /is not that of its digest sha256:/.test(message)));
    const other = await scanImage({ type: 'image', images: [`${lying.host}/team/app@${ARM.manifest}`] });
    assert.match(other.problems[0]!.message, /has no team\/app:sha256:/);
  });

  it('report what the registry lacks or sends too much of', async () => {
    const blobs = new Map(IMAGE.blobs);
    blobs.delete(IMAGE.layers[0]!);
    blobs.set(IMAGE.layers[1]!, Buffer.concat([IMAGE.blobs.get(IMAGE.layers[1]!)!, Buffer.alloc(10_000)]));
    const registry = new TestRegistry({
      blobs,
      tags: { '1': manifestOf(IMAGE), odd: Buffer.from('{"schemaVersion":1}') },
    });
    await registry.start();
    started.push(registry);
    const { findings, problems } = await scanImage(specOf(registry, '1'));
    assert.deepEqual(secretsIn({ findings }), [3, 4, 2].map(key));
    assert.deepEqual(problems.map(({ code }) => code).slice(0, 2), ['vanished', 'unreadable']);
    assert.match(problems[1]!.message, /sends more than the \d+ bytes that the image declares/);
    const odd = await scanImage(specOf(registry, 'odd'));
    assert.match(odd.problems[0]!.message, /returned no manifest of an image that is supported/);
  });

  it('resume at the layer, in the version of their beginning', async (t) => {
    const statePath = join(temporaryFolder(t), 'state');
    const keys = Array.from({ length: 60 }, (_, index) => key(100 + index));
    const tall = buildImage({ layers: keys.map((content, index) => [{ name: `file${index}`, content }]) });
    const registry = await registryOf([tall, ARM], { '1': manifestOf(tall) });
    const options = optionsFor('', { sources: [specOf(registry, '1')], threads: 1, frontierCapacity: 4 });
    const stopping = new AbortController();
    const first: Finding[] = [];
    const onFinding = (finding: Finding): void => {
      if (first.push(finding) === 3) stopping.abort();
    };
    const environment = { clock: systemClock, statePath, signal: stopping.signal };
    await startScan(options, { onFinding, onProblem: () => undefined }, environment);
    registry.content.tags['1'] = manifestOf(ARM);
    const { findings, summary } = await scan(options, { statePath });
    assert.deepEqual(secretsIn({ findings }), keys);
    assert.equal(summary.outcome, 'complete');
    const blobs = registry.requests.filter((request) => request.includes('/blobs/'));
    // One configuration is four objects.
    assert.ok(blobs.length < keys.length + 4 + 8, `${blobs.length} requests`);
  });
});

function swapped(content: Buffer): Buffer {
  const copy = Buffer.from(content);
  copy[copy.length - 1]! ^= 0xff;
  return copy;
}

function setVariable(t: TestContext, name: string, value: string): void {
  const before = process.env[name];
  process.env[name] = value;
  t.after(() => (process.env[name] = before ?? ''));
}

describe('images on this machine', () => {
  it('are read from a layout, an OCI archive and one of docker save', async (t) => {
    const folder = temporaryFolder(t);
    writeLayout(join(folder, 'layout'), [IMAGE, ARM]);
    write(join(folder, 'oci.tar'), buildTar(layoutFiles([IMAGE, ARM])));
    write(join(folder, 'saved.tar'), buildTar(savedFiles([IMAGE, ARM].map((image) => ({ image, tag: 'app:1' })))));
    for (const name of ['layout', 'oci.tar', 'saved.tar']) {
      const image = join(folder, name);
      const spec: ImageSpec = { type: 'image', images: [image] };
      const { findings, problems } = await scanImage(spec);
      assert.deepEqual([name, problems, secretsIn({ findings })], [name, [], [...KEYS, key(5)]]);
      assert.match(findings[2]!.path, /!layer 1 \(sha256:[0-9a-f]{12}\)!etc\/key$/);
      const listing = await openSource(spec);
      const { cursors } = await listAll(listing, 2);
      await listing.close();
      if (name === 'layout') writeLayout(image, [IMAGE]);
      else writeFileSync(image, buildTar(layoutFiles([IMAGE])));
      const changed = await openSource(spec);
      await assert.rejects(listAll(changed, 2, cursors[0]), /has changed since the scan was interrupted/);
      await changed.close();
    }
    for (const [name, content] of [
      ['empty.tar', buildTar([])],
      ['text', 'text'],
    ] as const) {
      write(join(folder, name), content);
      const { problems } = await scanImage({ type: 'image', images: [join(folder, name)] });
      assert.match(problems[0]!.message, /is not an archive of container images/, name);
    }
    write(join(folder, 'saved.tar.gz'), gzipSync(buildTar(savedFiles([{ image: IMAGE, tag: 'app:1' }]))));
    const packed = await scanImage({ type: 'image', images: [join(folder, 'saved.tar.gz')] });
    assert.match(packed.problems[0]!.message, /is compressed with gzip; unpack it first, or scan it as a path/);
    const { problems } = await scanImage({ type: 'image', images: [folder] });
    assert.match(problems[0]!.message, /^index\.json lists no images/);
  });
});

test('an archive that is named as one of images may begin with any file', async (t) => {
  const path = join(temporaryFolder(t), 'image.tar');
  write(path, buildTar([{ name: 'README', content: 'hello' }, ...builtFiles(IMAGE)]));
  const { findings, problems } = await scanImage({ type: 'image', images: [path] });
  assert.deepEqual([problems, secretsIn({ findings })], [[], KEYS]);
});

describe('names and credentials', () => {
  it('names are those of other programs', () => {
    const shown = (text: string): string | null => {
      const reference = parseReference(text);
      return reference && `${reference.origin} ${reference.repository} ${reference.version}`;
    };
    const digest = `sha256:${'0'.repeat(64)}`;
    const cases: Readonly<Record<string, string | null>> = {
      debian: 'https://registry-1.docker.io library/debian latest',
      'docker://docker.io/ada/app:1': 'https://registry-1.docker.io ada/app 1',
      'ghcr.io/ada/app': 'https://ghcr.io ada/app latest',
      [`registry.example:5000/a/b/c:1@${digest}`]: `https://registry.example:5000 a/b/c ${digest}`,
      'localhost:5000/app': 'http://localhost:5000 app latest',
      'https://localhost:5000/app': 'https://localhost:5000 app latest',
      'http://registry.example/app:2': 'http://registry.example app 2',
      App: null,
      'app:': null,
      'registry.example/../app': null,
      'app?x': null,
      'a b': null,
      '': null,
      'registry.example/': null,
    };
    for (const [text, expected] of Object.entries(cases)) assert.equal(shown(text), expected, text);
  });

  it('credentials are found by registry, in the environment first; helpers are not run', (t) => {
    const folder = temporaryFolder(t);
    const config = {
      auths: { 'https://index.docker.io/v1/': { auth: 'aHVi' }, 'r.example': { username: 'a', password: 'b' } },
    };
    write(join(folder, 'config.json'), JSON.stringify(config));
    const env = { DOCKER_CONFIG: folder, REGISTRY_AUTH_FILE: join(folder, 'none') };
    assert.equal(credentialsOf('docker.io', env), 'aHVi');
    assert.equal(credentialsOf('r.example', env), Buffer.from('a:b').toString('base64'));
    assert.equal(credentialsOf('other.example', env), null);
    const auths = { auths: { 'r.example': { auth: 'Zmlyc3Q=' } } };
    assert.equal(credentialsOf('r.example', { ...env, DOCKER_AUTH_CONFIG: JSON.stringify(auths) }), 'Zmlyc3Q=');
    assert.throws(
      () => credentialsOf('r.example', { DOCKER_AUTH_CONFIG: '{' }),
      /DOCKER_AUTH_CONFIG is not valid JSON/,
    );
    write(join(folder, 'config.json'), JSON.stringify({ credHelpers: { 'r.example': 'pass' } }));
    assert.throws(
      () => credentialsOf('r.example', env),
      /in the helper pass, which is not run; set DOCKER_AUTH_CONFIG/,
    );
  });
});

const REGISTRY = 'docker-registry';
const missing = spawnSync(REGISTRY, ['--version']).error === undefined ? false : `${REGISTRY} is not installed`;

it('the registry of the Docker project serves images to the scan', { skip: missing }, async (t) => {
  const folder = temporaryFolder(t);
  const config = join(folder, 'config.yml');
  write(config, `version: 0.1\nstorage: {filesystem: {rootdirectory: ${folder}/data}}\nhttp: {addr: "127.0.0.1:0"}\n`);
  // It takes its settings from variables, too.
  const server = spawn(REGISTRY, ['serve', config], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => server.kill());
  let log = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (text: Buffer) => (log += text.toString()));
  const listening = /listening on 127\.0\.0\.1:(\d+)/;
  const port = await eventually(() => listening.exec(log)?.[1], `the registry listens\n${log}`);
  const base = `http://127.0.0.1:${port}/v2/team/app`;
  for (const [digest, content] of IMAGE.blobs) {
    const { headers } = await fetch(`${base}/blobs/uploads/`, { method: 'POST' });
    const place = new URL(headers.get('location')!, base);
    place.searchParams.set('digest', digest);
    const answer = await fetch(place, { method: 'PUT', body: new Uint8Array(content) });
    assert.equal(answer.status, 201);
  }
  const type = 'application/vnd.oci.image.manifest.v1+json';
  const put = { method: 'PUT', headers: { 'content-type': type }, body: new Uint8Array(manifestOf(IMAGE)) };
  assert.equal((await fetch(`${base}/manifests/1.0`, put)).status, 201);
  const result = await scanImage({ type: 'image', images: [`127.0.0.1:${port}/team/app:1.0`] });
  assert.deepEqual([result.problems, secretsIn(result)], [[], KEYS]);
});
