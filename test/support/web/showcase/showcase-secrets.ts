/** What a scan of a working copy and of the history of a repository would have found. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { plant } from '../../../../examples/secret-scan/plant.ts';
import type { Api } from '../api.ts';
import { withChecksum } from '@heddle/test-support/scan/with-checksum';

/** In parts, so that no scanner takes it for a real one. */
const TOKEN = withChecksum('crc32-base62', ['ghp', 'Zq3v9LmT7xK2wB8nR4cY6dF1sJ5hG0aEuP2w'].join('_'));

const FILES: Readonly<Record<string, string>> = {
  'src/release.ts': `import { Octokit } from './octokit.ts';

/** Publishes a release of the shop. */
export async function publish(version: string): Promise<void> {
  const octokit = new Octokit({
    // TODO: read it from the environment
    auth: '${TOKEN}',
    userAgent: \`shop \${version}\`,
  });
  await octokit.createRelease({ owner: 'example', repo: 'shop', tag: version });
}
`,
  'deploy/staging.env': `LOG_LEVEL=info\nDATABASE_HOST=db.example.com\nGITHUB_TOKEN=${TOKEN}\nREGION=eu-central-1\n`,
};

/** Scans a directory with made-up secrets and the history of a repository. */
export async function makeSecrets(api: Api, directory: string): Promise<void> {
  const [path, repository] = [join(directory, 'planted'), join(directory, 'shop')];
  plant(path);
  makeRepository(repository);
  const sources = [
    { type: 'path', path },
    { type: 'git', repository },
  ];
  const into = 'scans';
  const list = { kind: 'ObjectScanGenerator', input: { sources, partition: { objects_max: 10 }, into } };
  await api.post('/v1/workflows', {
    name: 'secret scan',
    root: {
      mode: 'sequential',
      children: [
        {
          mode: 'parallel',
          children: [
            { id: 'list', ...list },
            { id: into, mode: 'parallel', children: [] },
          ],
        },
        { id: 'findings', kind: 'ObjectScanAggregator', input: { target: 'web shop' } },
      ],
    },
  });
}

function makeRepository(repository: string): void {
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(repository, name)), { recursive: true });
    writeFileSync(join(repository, name), content);
  }
  const author = ['-c', 'user.name=Ann Example', '-c', 'user.email=ann@example.com'];
  for (const args of [
    ['init', '--quiet'],
    ['add', '.'],
    [...author, 'commit', '--quiet', '-m', 'Publish releases'],
  ])
    execFileSync('git', ['-C', repository, ...args]);
}
