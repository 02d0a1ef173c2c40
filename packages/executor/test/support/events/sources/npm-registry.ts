import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';

import { directory, write } from '../fixture.ts';

export interface Packed {
  name: string;
  version: string;
  archive: Buffer;
  /** As in lock files. */
  integrity: string;
}

/** By files and manifest, because npm takes longer to start than most of these tests take. */
const packedBefore = new Map<string, Promise<Packed>>();

/** Packs files with `npm pack`, the same ones only once; package.json is created if missing. */
export async function npmPack(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  manifest: object = {},
): Promise<Packed> {
  const key = JSON.stringify([files, manifest]);
  const known = packedBefore.get(key) ?? packNow(t, files, manifest);
  packedBefore.set(key, known);
  const packed = await known;
  return { ...packed, archive: Buffer.from(packed.archive) };
}

async function packNow(t: TestContext, files: Readonly<Record<string, string>>, manifest: object): Promise<Packed> {
  const below = await directory(t);
  const cache = await directory(t);
  const whole = { name: 'events-of-tests', version: '1.2.3', type: 'module', main: 'index.js', ...manifest };
  await write(below, { ...files, 'package.json': JSON.stringify(whole) });
  const { stdout } = await promisify(execFile)('npm', ['pack', '--json', '--ignore-scripts'], {
    cwd: below,
    env: {
      PATH: process.env['PATH'],
      HOME: cache,
      npm_config_cache: cache,
      npm_config_offline: 'true',
    },
  });
  const packed = JSON.parse(stdout) as Record<string, { filename: string; integrity: string }>;
  const [{ filename, integrity }] = Object.values(packed) as [{ filename: string; integrity: string }];
  return { name: whole.name, version: whole.version, archive: await readFile(join(below, filename)), integrity };
}

export function integrityOf(bytes: Uint8Array): string {
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A registry of one package on loopback; `answers` overrides responses by path. */
export class NpmRegistry {
  readonly requests: string[] = [];
  readonly answers = new Map<string, Answer>();
  readonly #server: Server;
  readonly #packed: Packed;

  private constructor(server: Server, packed: Packed) {
    this.#server = server;
    this.#packed = packed;
  }

  static async open(t: TestContext, packed: Packed): Promise<NpmRegistry> {
    const server = createServer((request, response) => registry.#answer(request, response));
    const registry = new NpmRegistry(server, packed);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    return registry;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get documentPath(): string {
    return `/${this.#packed.name.replace('/', '%2f')}/${this.#packed.version}`;
  }

  get archivePath(): string {
    return `/${this.#packed.name}/-/${this.#packed.name.split('/').at(-1)!}-${this.#packed.version}.tgz`;
  }

  /** Number of downloads of the archive. */
  get downloads(): number {
    return this.requests.filter((path) => path === this.archivePath).length;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    this.requests.push(path);
    const answer = this.answers.get(path);
    if (answer !== undefined) answer(request, response);
    else if (path === this.documentPath) json(response, this.document());
    else if (path === this.archivePath) response.end(this.#packed.archive);
    else response.writeHead(404).end();
  }

  /** Sends the registry's document of a version. */
  document(tarball = `${this.url}${this.archivePath}`): object {
    const { name, version, integrity } = this.#packed;
    return { name, version, dist: { tarball, integrity } };
  }
}

export function json(response: ServerResponse, value: unknown): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(value));
}
