import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';

import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob';

import type { SourceSpec } from '../../src/options.ts';
import { bucketsConform } from '../support/source/bucket-conformance.ts';

type AzureSpec = Extract<SourceSpec, { type: 'azure' }>;

const ACCOUNT = 'testaccount';
const KEY = Buffer.from('the key of an account for tests').toString('base64');
process.env['AZURE_STORAGE_ACCOUNT'] = ACCOUNT;
process.env['AZURE_STORAGE_KEY'] = KEY;

const folder = mkdtempSync(join(tmpdir(), 'heddle-azurite-'));
const main = join(dirname(createRequire(import.meta.url).resolve('azurite/package.json')), 'dist/src/blob/main.js');
const emulator = spawn(
  process.execPath,
  [main, '--blobPort', '0', '--blobHost', '127.0.0.1', '--location', folder, '--skipApiVersionCheck', '--silent'],
  { env: { PATH: process.env['PATH'], AZURITE_ACCOUNTS: `${ACCOUNT}:${KEY}` }, stdio: ['ignore', 'pipe', 'inherit'] },
);
after(async () => {
  // Its own end would wait for connections that are kept alive.
  emulator.kill('SIGKILL');
  await once(emulator, 'close');
  rmSync(folder, { recursive: true, force: true });
});

const endpoint = `${await addressOfEmulator()}/${ACCOUNT}`;
const client = new BlobServiceClient(endpoint, new StorageSharedKeyCredential(ACCOUNT, KEY));
let containers = 0;

bucketsConform<AzureSpec>({
  name: 'azure',
  newBucket: async () => {
    containers += 1;
    const container = `container-${containers}`;
    await client.createContainer(container);
    return { type: 'azure', container, endpoint, address: `az://${container}` };
  },
  put: async ({ container }, key, content) => {
    const bytes = Buffer.from(content);
    await client.getContainerClient(container).getBlockBlobClient(key).upload(bytes, bytes.length);
  },
  remove: async ({ container }, key) => {
    await client.getContainerClient(container).deleteBlob(key);
  },
  prefix: ({ container }) => `az://${container}/`,
  missing: { container: 'no-such-container' },
  missingMessage: /there is no container no-such-container/,
  // The condition is not met in both cases.
  changed: /was replaced or deleted while it was read/,
  // A URL has no such segment.
  without: ['..'],
});

async function addressOfEmulator(): Promise<string> {
  for await (const line of createInterface({ input: emulator.stdout })) {
    const address = /successfully listen(?:s|ing) on (http:\/\/\S+)/.exec(line)?.[1];
    if (address !== undefined) return address;
  }
  throw new Error('azurite did not start');
}
