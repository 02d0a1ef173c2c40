import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { madeOnce } from './made-once.ts';
import { lineWith, makeSecrets } from './planted-secrets.ts';
import { PseudoRandom } from './pseudo-random.ts';
import { fileName, fileSize, SourceText } from './source-text.ts';

/** Incremented when the same parameters produce a different history. */
const FORMAT = 1;
const ENDINGS = ['.ts', '.ts', '.py', '.go', '.json', '.yml', '.md', '.sh'];
/** Files of the first commit, as a share of the number of commits. */
const FILES_SHARE = 0.15;
/** A file is added every 20 commits. */
const COMMITS_PER_FILE = 20;
const CHANGES_MAX = 4;
const LINES_CHANGED_MAX = 12;
const SECRET_COMMITS_APART = 10;
/** A secret is removed after this many commits, unless its line was replaced before. */
const SECRET_LIFE_COMMITS = 40;

export interface History {
  /** A bare repository. */
  repository: string;
  commits: number;
  blobs: number;
  /** Of all blobs, each once. */
  blob_bytes: number;
  /** Secrets that a commit added and, mostly, another one took away. */
  planted: string[];
}

/**
 * The history of a repository of source code, the same for the same options; written once and reused. A commit changes a
 * few lines of one to four files.
 */
export async function generateHistory(options: {
  directory: string;
  commits: number;
  seed?: number;
}): Promise<History> {
  const { directory, commits, seed = 20_250_101 } = options;
  const home = join(directory, `history-${FORMAT}-${commits}-${seed}`);
  const manifest = await madeOnce(home, (made) => writeHistory(join(made, 'repository'), commits, seed));
  return { ...manifest, repository: join(home, 'repository') };
}

async function writeHistory(repository: string, commits: number, seed: number): Promise<Omit<History, 'repository'>> {
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', repository]);
  const child = spawn('git', ['-C', repository, 'fast-import', '--quiet'], { stdio: ['pipe', 'inherit', 'inherit'] });
  const made = await new HistoryWriter(child, seed).write(commits);
  child.stdin.end();
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
  execFileSync('git', ['-C', repository, 'repack', '-a', '-d', '--quiet']);
  return made;
}

interface SourceFile {
  path: string;
  lines: string[];
}

class HistoryWriter {
  readonly #child: ChildProcess;
  readonly #random: PseudoRandom;
  readonly #text: SourceText;
  readonly #secrets: ReturnType<typeof makeSecrets>;
  readonly #files: SourceFile[] = [];
  readonly #planted: { secret: string; line: string; file: SourceFile; until: number }[] = [];
  #blobs = 0;
  #blobBytes = 0;

  constructor(child: ChildProcess, seed: number) {
    this.#child = child;
    this.#random = new PseudoRandom(seed);
    this.#text = new SourceText(seed);
    this.#secrets = makeSecrets(new PseudoRandom(seed + 1));
  }

  async write(commits: number): Promise<Omit<History, 'repository'>> {
    for (let at = 0; at < commits * FILES_SHARE; at += 1) this.#addFile();
    await this.#commit(0, this.#files);
    for (let at = 1; at < commits; at += 1) await this.#commit(at, this.#change(at));
    const planted = this.#planted.map(({ secret }) => secret);
    return { commits, blobs: this.#blobs, blob_bytes: this.#blobBytes, planted };
  }

  #addFile(): SourceFile {
    const directory = `package-${this.#files.length % 12}/${fileName(this.#random)}`;
    const file = {
      path: `${directory}/${fileName(this.#random)}-${this.#files.length}${this.#random.pick(ENDINGS)}`,
      lines: this.#text.make(this.#random, fileSize(this.#random)).toString().split('\n'),
    };
    this.#files.push(file);
    return file;
  }

  /** Changes some files, and returns them. */
  #change(at: number): SourceFile[] {
    const changed = new Set<SourceFile>();
    for (let count = this.#random.between(1, CHANGES_MAX); count > 0; count -= 1) {
      const file = this.#random.pick(this.#files);
      this.#editLines(file);
      changed.add(file);
    }
    if (at % COMMITS_PER_FILE === 0) changed.add(this.#addFile());
    if (at % SECRET_COMMITS_APART === 0) changed.add(this.#plant(at));
    for (const { line, file, until } of this.#planted) {
      if (until !== at) continue;
      file.lines = file.lines.filter((other) => other !== line);
      changed.add(file);
    }
    return [...changed];
  }

  #editLines(file: SourceFile): void {
    const count = this.#random.between(1, LINES_CHANGED_MAX);
    const added = this.#text
      .make(this.#random, count * 40)
      .toString()
      .split('\n');
    file.lines.splice(this.#random.below(file.lines.length), this.#random.between(0, count), ...added);
  }

  #plant(at: number): SourceFile {
    const { secret } = this.#secrets.next().value;
    const file = this.#random.pick(this.#files);
    const line = lineWith(secret, this.#random);
    file.lines.splice(this.#random.below(file.lines.length), 0, line);
    this.#planted.push({ secret, line, file, until: at + SECRET_LIFE_COMMITS });
    return file;
  }

  async #commit(at: number, files: readonly SourceFile[]): Promise<void> {
    const message = `change ${at}`;
    const parts = [
      `commit refs/heads/main\ncommitter A. Developer <developer@example.org> ${1_700_000_000 + at * 600} +0000\n` +
        `data ${message.length}\n${message}\n`,
    ];
    for (const { path, lines } of files) {
      const content = lines.join('\n');
      const bytes = Buffer.byteLength(content);
      this.#blobs += 1;
      this.#blobBytes += bytes;
      parts.push(`M 100644 inline ${path}\ndata ${bytes}\n${content}\n`);
    }
    if (!this.#child.stdin!.write(parts.join(''))) await once(this.#child.stdin!, 'drain');
  }
}
