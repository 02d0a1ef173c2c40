import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createNetServer } from 'node:net';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';

import { eventually } from '@heddle/test-support/eventually';
import { directory, write } from '../fixture.ts';

/** A bare repository created with plumbing commands, so that it can contain what no working tree could. */
export class GitRepository {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(t: TestContext, format: 'sha1' | 'sha256' = 'sha1'): Promise<GitRepository> {
    const repository = new GitRepository(join(await directory(t), 'repository.git'));
    execFileSync('git', ['init', '-q', '--bare', `--object-format=${format}`, repository.path]);
    return repository;
  }

  get url(): string {
    return `file://${this.path}`;
  }

  git(args: readonly string[], input: string | Buffer = ''): string {
    const identity = { GIT_AUTHOR_NAME: 'T', GIT_AUTHOR_EMAIL: 't@localhost', GIT_AUTHOR_DATE: '1700000000 +0000' };
    const committer = { GIT_COMMITTER_NAME: 'T', GIT_COMMITTER_EMAIL: 't@localhost' };
    const env = { PATH: process.env['PATH'], HOME: this.path, ...identity, ...committer };
    return execFileSync('git', ['-C', this.path, ...args], { input, env, encoding: 'utf8' }).trim();
  }

  /** Commits a tree of files and of the lines in `more` (`mode type hash\tname`); returns the hash. */
  commit(
    files: Readonly<Record<string, string | Buffer>>,
    more: readonly string[] = [],
    ref = 'refs/heads/main',
  ): string {
    const tree = this.#tree(files, more);
    const commit = this.git(['commit-tree', tree, '-m', 'commit']);
    this.git(['update-ref', ref, commit]);
    return commit;
  }

  blob(content: string | Buffer): string {
    return this.git(['hash-object', '-w', '--stdin'], content);
  }

  #tree(files: Readonly<Record<string, string | Buffer>>, more: readonly string[]): string {
    const below = new Map<string, Record<string, string | Buffer>>();
    const lines = [...more];
    for (const [path, content] of Object.entries(files)) {
      const slash = path.indexOf('/');
      if (slash < 0) lines.push(`100644 blob ${this.blob(content)}\t${path}`);
      else {
        const folder = path.slice(0, slash);
        below.set(folder, { ...below.get(folder), [path.slice(slash + 1)]: content });
      }
    }
    for (const [folder, inside] of below) lines.push(`040000 tree ${this.#tree(inside, [])}\t${folder}`);
    return this.git(['mktree', '-z', '--missing'], lines.map((line) => `${line}\0`).join(''));
  }
}

/** Serves the folder of a repository with `git daemon` on loopback; returns the repository's URL. */
export async function gitDaemon(t: TestContext, repository: GitRepository): Promise<string> {
  const port = await freePort();
  const base = dirname(repository.path);
  const daemon = spawn(
    'git',
    ['daemon', '--reuseaddr', '--export-all', '--listen=127.0.0.1', `--port=${port}`, `--base-path=${base}`, base],
    { stdio: 'ignore', detached: true },
  );
  t.after(async () => {
    process.kill(-daemon.pid!, 'SIGKILL');
    if (daemon.exitCode === null && daemon.signalCode === null) await once(daemon, 'exit');
  });
  await eventually(() => answers(port), 'git daemon listens');
  return `git://127.0.0.1:${port}/repository.git`;
}

async function freePort(): Promise<number> {
  const server = createNetServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Serves a repository with `git http-backend` on loopback; `before` may handle a request instead. */
export async function gitHttp(
  t: TestContext,
  repository: GitRepository,
  before: (
    url: string,
    answer: (status: number, headers: Record<string, string>) => void,
    authorization: string | undefined,
  ) => boolean = () => false,
): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const answer = (status: number, headers: Record<string, string>): void =>
      void response.writeHead(status, headers).end();
    const answered = before(request.url ?? '', answer, request.headers.authorization);
    if (answered) return;
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: dirname(repository.path),
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_PROTOCOL: request.headers['git-protocol']?.toString() ?? '',
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      },
    });
    request.pipe(backend.stdin);
    backend.stdin.on('error', () => undefined);
    const chunks: Buffer[] = [];
    backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    backend.stdout.on('end', () => {
      const whole = Buffer.concat(chunks);
      const end = whole.indexOf('\r\n\r\n');
      const lines = whole.subarray(0, end).toString('latin1').split('\r\n');
      const headers = Object.fromEntries(lines.map((line) => line.split(': ', 2) as [string, string]));
      response.writeHead(Number.parseInt(headers['Status'] ?? '200', 10), headers).end(whole.subarray(end + 4));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/repository.git`;
}

/** Creates a program that leaves a mark when it runs, for git settings that name programs. */
export async function markingProgram(below: string, mark: string): Promise<string> {
  const path = join(below, 'marking');
  await write(below, { marking: `#!/bin/sh\ntouch '${mark}'\ncat\n` });
  execFileSync('chmod', ['755', path]);
  return path;
}
