import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Asserts that each piece stands in the text; white space at the ends of lines does not matter. */
function assertHolds(text: string, pieces: readonly string[]): void {
  const lines = text.split('\n').map((line) => line.trim().replace(/^- /, ''));
  for (const piece of pieces) assert.ok(lines.includes(piece), `missing line: ${piece}`);
}

describe('the release workflow', () => {
  const workflow = read('.github/workflows/release.yml');

  test('gives the images their tags: version, major.minor, major from v1 on, commit, latest', () => {
    assertHolds(workflow, [
      'type=semver,pattern={{version}}',
      'type=semver,pattern={{major}}.{{minor}}',
      "type=semver,pattern={{major}},enable=${{ startsWith(github.ref, 'refs/tags/v') && !startsWith(github.ref, 'refs/tags/v0.') }}",
      'type=sha,prefix=sha-',
      'type=raw,value=latest,enable={{is_default_branch}}',
      // Otherwise a version tag would move `latest` too.
      'flavor: latest=false',
    ]);
  });

  test('builds both architectures, after the tests', () => {
    assertHolds(workflow, ['platforms: linux/amd64,linux/arm64', 'needs: test', 'run: .ci/run']);
  });
});

describe('the image', () => {
  const dockerfile = read('Dockerfile');

  test('runs as an unprivileged user and says whether it is healthy', () => {
    assert.match(dockerfile, /^USER node$/m);
    assert.match(dockerfile, /^HEALTHCHECK [^]*'\/live'\)/m);
    assert.match(dockerfile, /^EXPOSE 8085$/m);
  });

  test('its Node is one that the package accepts', () => {
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
    const wanted = Number(/>=(\d+)/.exec(engines.node)?.[1]);
    const images = [...dockerfile.matchAll(/node:(\d+)-/g)].map(([, major]) => Number(major));
    assert.ok(images.length > 0 && images.every((major) => major >= wanted), String(images));
  });

  for (const [architecture, cpu] of [
    ['amd64', 'x64'],
    ['arm64', 'arm64'],
  ] as const) {
    test(`for ${architecture} it gets the native code of ${architecture}`, () => {
      const [run] = /^RUN (cpu=(?:.*\\\n)*.*)/m.exec(dockerfile)?.slice(1) ?? [];
      const planned = run!.replaceAll('\\\n', '').replace('npm ci', 'npm ci --dry-run --loglevel=notice');
      const shell = ['-euc', planned.slice(0, planned.lastIndexOf('&&'))];
      const env = { ...process.env, TARGETARCH: architecture };
      const cwd = mkdtempSync(join(tmpdir(), 'heddle-image-'));
      const manifests = globSync(['packages/*/package.json', 'web/package.json'], { cwd: ROOT });
      for (const name of ['package.json', 'package-lock.json', ...manifests]) {
        mkdirSync(dirname(join(cwd, name)), { recursive: true });
        writeFileSync(join(cwd, name), read(name));
      }
      const added = execFileSync('sh', shell, { cwd, env, encoding: 'utf8', stdio: 'pipe' });
      rmSync(cwd, { recursive: true });
      assert.deepEqual(added.match(/@koromix\/koffi-\S+/g), [`@koromix/koffi-linux-${cpu}`]);
    });
  }

  test('knows every package: for the installation, and as what it runs', () => {
    const names = globSync('packages/*', { cwd: ROOT }).map((path) => path.replace('packages/', ''));
    for (const name of names) {
      const copies = dockerfile.split(`COPY packages/${name}/package.json packages/${name}/\n`).length - 1;
      assert.equal(copies, 2, name);
      if (name !== 'test-support')
        assert.match(dockerfile, new RegExp(`^COPY --from=build /heddle/build/${name} `, 'm'));
    }
  });

  test('holds what the default tier of executors and scans of repositories call', () => {
    assert.match(dockerfile, /apt-get install .*\bbubblewrap\b.*\bgit\b/);
  });

  test('every path that it copies reaches the build context', () => {
    const ignore = read('.dockerignore');
    for (const path of [
      'package.json',
      'package-lock.json',
      'tsconfig.build.json',
      'packages',
      'docs',
      'scripts',
      'web',
      'examples',
      'LICENSE',
    ])
      assert.match(ignore, new RegExp(`^!${path.replaceAll('.', '\\.')}$`, 'm'));
  });
});
