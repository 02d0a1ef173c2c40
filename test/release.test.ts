import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const read = (path: string): string => readFileSync(join(import.meta.dirname, '..', path), 'utf8');

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

  test('every path that it copies reaches the build context', () => {
    const ignore = read('.dockerignore');
    for (const path of [
      'package.json',
      'package-lock.json',
      'tsconfig.build.json',
      'src',
      'scripts',
      'web',
      'examples',
      'LICENSE',
    ])
      assert.match(ignore, new RegExp(`^!${path.replaceAll('.', '\\.')}$`, 'm'));
  });
});
