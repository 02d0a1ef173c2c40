import { mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { quoted } from '@heddle/base/parse/path';
import type { Clock } from '@heddle/base/clock';
import { ByteQueue } from '../archive/byte-queue.ts';
import { utf8 } from '../archive/text.ts';
import { walk } from '../code-digest.ts';
import { CodeFault } from '../code-fault.ts';
import type { CodeLimits } from '../code-limits.ts';
import { checkCodePath } from '../code-path.ts';
import type { CodeWriter } from '../code-writer.ts';
import { accessToken } from './access-token.ts';
import { type GitCommand, readAll, runGit } from './git-command.ts';
import type { CodeSource } from './port.ts';

export interface GitCommit {
  readonly url: string;
  /** Full hash, in lower case. */
  readonly commit: string;
  /** Tag or branch that must still point to the commit; null to fetch by hash alone. */
  readonly ref: string | null;
  /** File with an access token for private repositories. */
  readonly tokenFile: string | null;
}

export interface GitOptions {
  clock: Clock;
  searchPath: string;
}

interface TreeFile {
  readonly path: string;
  readonly object: string;
  readonly bytes: number;
}

const SIZE_CHECK_INTERVAL_MS = 250;
const TREE_BYTES_PER_FILE_MAX = 1_100;

/**
 * Returns the source of a git commit. Files are read from git's object store without a working tree, so that hooks,
 * filters, attributes and submodules have no effect.
 */
export function gitSource(pinned: GitCommit, options: GitOptions): CodeSource {
  return {
    kind: 'git',
    label: `${pinned.commit} of ${pinned.url}`,
    fetch: async (into, signal) => {
      const directory = await mkdtemp(`${into.directory}-git-`);
      try {
        const url = new URL(pinned.url);
        const token = await accessToken(pinned.tokenFile, url);
        const protocol = url.protocol.slice(0, -1);
        const command = { searchPath: options.searchPath, protocol, directory, token, signal };
        await fetchCommit(pinned, command, { limits: into.limits, clock: options.clock });
        const files = await filesOf(pinned.commit, command, into);
        await copyFiles(files, command, into);
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    },
  };
}

async function fetchCommit(
  { url, commit, ref }: GitCommit,
  command: GitCommand,
  { limits, clock }: { limits: CodeLimits; clock: Clock },
): Promise<void> {
  const format = commit.length === 64 ? 'sha256' : 'sha1';
  const init = ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, '.'];
  await runGit(command, init, { failure: 'git could not create a repository', read: ignored });
  await withinBytes(command, limits.archive_bytes_max, clock, (bounded) =>
    runGit(
      bounded,
      [
        ...['-c', 'http.lowSpeedLimit=1', '-c', `http.lowSpeedTime=${limits.stall_secs}`],
        ...['fetch', '--quiet', '--depth=1', '--no-tags', '--no-recurse-submodules', '--no-auto-maintenance'],
        ...['--', url, ref ?? commit],
      ],
      { failure: 'the repository is unreachable or does not have the commit', read: ignored },
    ),
  );
  const fetched = await runGit(command, ['rev-parse', '--verify', '--quiet', 'FETCH_HEAD^{commit}'], {
    failure: 'the repository does not have the commit',
    read: (output) => readAll(output, 256),
  });
  if (fetched.toString('latin1').trim() === commit) return;
  throw new CodeFault(
    ref === null ? 'the pinned hash is not a commit' : `${quoted(ref)} no longer points to the pinned commit`,
  );
}

function ignored(output: NodeJS.ReadableStream): Promise<void> {
  output.resume();
  return Promise.resolve();
}

/** Aborts when the repository exceeds the size limit, because git does not limit what a server sends. */
async function withinBytes(
  command: GitCommand,
  bytesMax: number,
  clock: Clock,
  work: (command: GitCommand) => Promise<void>,
): Promise<void> {
  const grown = new AbortController();
  const over = new AbortController();
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await clock.sleep(SIZE_CHECK_INTERVAL_MS, over.signal);
      if ((await bytesBelow(command.directory)) > bytesMax) {
        grown.abort(new CodeFault(`the repository sent more than ${bytesMax} bytes`));
        return;
      }
    }
  };
  const watching = watch();
  try {
    await work({ ...command, signal: AbortSignal.any([command.signal, grown.signal]) });
  } finally {
    over.abort();
    await watching;
  }
  if ((await bytesBelow(command.directory)) > bytesMax) {
    throw new CodeFault(`the repository sent more than ${bytesMax} bytes`);
  }
}

async function bytesBelow(directory: string): Promise<number> {
  let bytes = 0;
  try {
    for await (const { path, kind } of walk(directory, '')) {
      if (kind === 'file') bytes += (await stat(join(directory, path)).catch(() => ({ size: 0 }))).size;
    }
  } catch {
    // Git creates and removes folders meanwhile; the next check counts them.
  }
  return bytes;
}

/**
 * Lists the commit's files and checks that they fit into `into`. Submodules are skipped, because their content is not
 * pinned.
 */
async function filesOf(commit: string, command: GitCommand, into: CodeWriter): Promise<TreeFile[]> {
  const { files_max, bytes_max } = into.limits;
  const listing = await runGit(command, ['ls-tree', '-r', '-l', '-z', '--full-tree', commit], {
    failure: 'the commit cannot be read',
    read: (output) => readAll(output, files_max * TREE_BYTES_PER_FILE_MAX),
  });
  const files: TreeFile[] = [];
  let bytes = 0;
  for (const line of utf8(listing).split('\0').slice(0, -1)) {
    const file = treeFile(line);
    if (file === null) continue;
    checkCodePath(file.path);
    into.expect(file.path, file.bytes);
    files.push(file);
    bytes += file.bytes;
    if (files.length > files_max) throw new CodeFault(`there are more than ${files_max} files`);
    if (bytes > bytes_max) throw new CodeFault(`the files are larger than ${bytes_max} bytes in total`);
  }
  return files;
}

/** Parses `100644 blob <hash> <size>\t<path>`; returns null for a submodule. */
function treeFile(line: string): TreeFile | null {
  const [, mode, type, object, size, path] = /^(\d{6}) (\w+) ([0-9a-f]+) +(\d+|-)\t(.*)$/s.exec(line) ?? [];
  if (path === undefined || object === undefined) throw new CodeFault('the commit cannot be read');
  if (mode === '160000' && type === 'commit') return null;
  if (mode === '120000') throw new CodeFault(`${quoted(path)} is a symbolic link; only files are allowed`);
  if (type !== 'blob') throw new CodeFault(`${quoted(path)} is not a file`);
  return { path, object, bytes: Number(size) };
}

async function copyFiles(files: readonly TreeFile[], command: GitCommand, into: CodeWriter): Promise<void> {
  await runGit(command, ['cat-file', '--batch'], {
    failure: 'the files of the commit cannot be read',
    input: files.map(({ object }) => `${object}\n`).join(''),
    read: async (output) => {
      const queue = new ByteQueue(output as AsyncIterable<Buffer>);
      for (const { path, object, bytes } of files) {
        const head = `${object} blob ${bytes}\n`;
        const header = await queue.take(head.length);
        const content = header?.toString('latin1') === head ? await queue.take(bytes) : null;
        if (content === null || (await queue.take(1)) === null)
          throw new CodeFault('the files of the commit cannot be read');
        await into.add(path, content);
      }
    },
  });
}
