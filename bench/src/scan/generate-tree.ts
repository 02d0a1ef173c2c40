import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { madeOnce } from './made-once.ts';
import { lineWith, makeSecrets, type MadeSecret } from './planted-secrets.ts';
import { PseudoRandom } from './pseudo-random.ts';
import { fileName, fileSize, SourceText } from './source-text.ts';
import { type ArchiveFile, makeTarGz, makeZip } from './write-archive.ts';

/** Incremented when the same parameters produce a different tree. */
const FORMAT = 3;
const KIB = 1024;
const MIB = KIB * KIB;
const FILES_IN_DIRECTORY = 30;
const DIRECTORIES_IN_PACKAGE = 12;
const ENDINGS = ['.ts', '.ts', '.js', '.py', '.go', '.java', '.json', '.yml', '.md', '.sh', '.css', '.sql'];
const LARGE_BYTES = 24 * MIB;
/** A large file has at least two of the largest chunks. */
const LARGE_BYTES_MIN = 9 * MIB;
const ENTRIES_OF_ARCHIVE = 40;
/** The usual chunk sizes. */
const CHUNK_SIZES = [64 * KIB, MIB, 4 * MIB];

/** Shares of the tree's bytes (archives: unpacked) and of the secrets; the rest is small text files. */
const SHARES = {
  large: { bytes: 0.12, secrets: 0.15 },
  binary: { bytes: 0.06, secrets: 0 },
  zip: { bytes: 0.04, secrets: 0.07 },
  tar_gz: { bytes: 0.04, secrets: 0.07 },
  nested: { bytes: 0.02, secrets: 0.04 },
  utf16: { bytes: 0.01, secrets: 0.06 },
  base64: { bytes: 0.01, secrets: 0.06 },
} as const;

type Place = keyof typeof SHARES | 'text';

export interface PlantedSecret extends MadeSecret {
  /** Below the tree; entries of archives follow their archive after `!`. */
  path: string;
  place: Exclude<Place, 'binary'>;
  /** For a large file: the chunk boundary that it crosses. */
  boundary?: number;
}

export interface TreeManifest {
  format: number;
  bytes: number;
  seed: number;
  files: number;
  /** Bytes on disk. */
  file_bytes: number;
  planted: PlantedSecret[];
}

export interface TreeOptions {
  /** Directory of the trees, each in a separate directory with its manifest beside it. */
  directory: string;
  /** Approximate size, archives counted unpacked; at least 32 MiB. 1 GB by default. */
  bytes?: number;
  secrets?: number;
  seed?: number;
}

/** A tree to scan, the same for the same options; written once and reused. */
export async function generateTree(options: TreeOptions): Promise<{ directory: string; manifest: TreeManifest }> {
  const { bytes = 1_000_000_000, secrets = 1000, seed = 20_250_101 } = options;
  if (bytes < 32 * MIB) throw new RangeError(`a tree has at least ${32 * MIB} bytes, not ${bytes}`);
  const home = join(options.directory, `tree-${FORMAT}-${bytes}-${secrets}-${seed}`);
  const manifest = await madeOnce(home, (made) => new TreeWriter(join(made, 'tree'), { bytes, secrets, seed }).write());
  return { directory: join(home, 'tree'), manifest };
}

class TreeWriter {
  readonly #root: string;
  readonly #options: { bytes: number; secrets: number; seed: number };
  readonly #random: PseudoRandom;
  readonly #text: SourceText;
  readonly #secrets: Generator<MadeSecret, never>;
  readonly #planted: PlantedSecret[] = [];
  #files = 0;
  #fileBytes = 0;
  #directory = '';

  constructor(root: string, options: { bytes: number; secrets: number; seed: number }) {
    this.#root = root;
    this.#options = options;
    this.#random = new PseudoRandom(options.seed);
    this.#text = new SourceText(options.seed);
    this.#secrets = makeSecrets(new PseudoRandom(options.seed + 1));
  }

  write(): TreeManifest {
    let left = this.#options.bytes;
    let secretsLeft = this.#options.secrets;
    const parts: Readonly<Record<keyof typeof SHARES, (bytes: number, secrets: number) => void>> = {
      large: (bytes, secrets) => this.#writeLarge(bytes, secrets),
      binary: (bytes) => this.#writeBinaries(bytes),
      zip: (bytes, secrets) => this.#writeArchives('zip', bytes, secrets),
      tar_gz: (bytes, secrets) => this.#writeArchives('tar_gz', bytes, secrets),
      nested: (bytes, secrets) => this.#writeArchives('nested', bytes, secrets),
      utf16: (bytes, secrets) => this.#writeTexts('utf16', bytes, secrets),
      base64: (bytes, secrets) => this.#writeTexts('base64', bytes, secrets),
    };
    for (const [place, write] of Object.entries(parts) as [keyof typeof SHARES, (typeof parts)['zip']][]) {
      const bytes = Math.floor(this.#options.bytes * SHARES[place].bytes);
      const secrets = Math.floor(this.#options.secrets * SHARES[place].secrets);
      write(bytes, secrets);
      left -= bytes;
      secretsLeft -= secrets;
    }
    this.#writeTexts('text', left, secretsLeft);
    const { bytes, seed } = this.#options;
    return { format: FORMAT, bytes, seed, files: this.#files, file_bytes: this.#fileBytes, planted: this.#planted };
  }

  /** Sizes of files that add up to `bytes`. */
  #fileSizes(bytes: number): number[] {
    const sizes: number[] = [];
    for (let left = bytes; left > 0;) {
      const size = fileSize(this.#random);
      sizes.push(size);
      left -= size;
    }
    return sizes;
  }

  #nextPath(ending: string): string {
    if (this.#files % FILES_IN_DIRECTORY === 0) {
      const count = this.#files / FILES_IN_DIRECTORY;
      const outer = `package-${Math.floor(count / DIRECTORIES_IN_PACKAGE)}`;
      this.#directory = `${outer}/${fileName(this.#random)}/${fileName(this.#random)}-${count}`;
      mkdirSync(join(this.#root, this.#directory), { recursive: true });
    }
    return `${this.#directory}/${fileName(this.#random)}-${this.#files}${ending}`;
  }

  #save(path: string, content: Buffer): void {
    writeFileSync(join(this.#root, path), content);
    this.#files += 1;
    this.#fileBytes += content.length;
  }

  #plant(path: string, place: PlantedSecret['place'], boundary?: number): string {
    const made = this.#secrets.next().value;
    this.#planted.push({ ...made, path, place, ...(boundary === undefined ? {} : { boundary }) });
    return made.secret;
  }

  #writeTexts(place: 'text' | 'utf16' | 'base64', bytes: number, secrets: number): void {
    const sizes = this.#fileSizes(bytes);
    const counts = this.#spread(secrets, sizes.length);
    for (const [index, size] of sizes.entries()) {
      const path = this.#nextPath(place === 'utf16' ? '.txt' : this.#random.pick(ENDINGS));
      const lines = Array.from({ length: counts[index]! }, () => {
        const line = lineWith(this.#plant(path, place), this.#random);
        return place === 'base64' ? `blob = "${Buffer.from(`# settings\n${line}\n# end\n`).toString('base64')}"` : line;
      });
      const text = this.#text.make(this.#random, Math.max(size, this.#roomFor(lines)), lines);
      this.#save(path, place === 'utf16' ? utf16(text, index % 2 === 1) : text);
    }
  }

  #writeLarge(bytes: number, secrets: number): void {
    const size = Math.max(LARGE_BYTES_MIN, Math.min(LARGE_BYTES, bytes));
    const count = Math.max(1, Math.round(bytes / size));
    const counts = Array.from(
      { length: count },
      (_, index) => Math.floor((secrets * (index + 1)) / count) - Math.floor((secrets * index) / count),
    );
    for (const wanted of counts) {
      const path = this.#nextPath('.log');
      const content = this.#text.make(this.#random, size + this.#random.below(KIB));
      for (const boundary of this.#boundaries(content.length, wanted)) {
        const secret = this.#plant(path, 'large', boundary);
        const before = '\ncredential: ';
        const inside = this.#random.between(1, secret.length - 1);
        content.write(`${before}${secret}\n`, boundary - inside - before.length);
      }
      this.#save(path, content);
    }
  }

  /** Chunk boundaries of all sizes in turn, without repetition. */
  #boundaries(length: number, count: number): number[] {
    const ends = Math.floor((length - KIB) / CHUNK_SIZES[0]!);
    if (count > ends)
      throw new RangeError(`${count} secrets are too many for the ${ends} ends of chunks of a large file`);
    const chosen = new Set<number>();
    for (let turn = 0; chosen.size < count; turn += 1) {
      // A file has few boundaries of large chunks; once they are used, the smallest sizes supply the rest.
      const unit = CHUNK_SIZES[turn < 6 * CHUNK_SIZES.length ? turn % CHUNK_SIZES.length : 0]!;
      const boundary = unit * this.#random.between(1, Math.floor((length - KIB) / unit));
      chosen.add(boundary);
    }
    return [...chosen].sort((left, right) => left - right);
  }

  #writeBinaries(bytes: number): void {
    for (const size of this.#fileSizes(bytes)) {
      const content = this.#random.fill(Buffer.alloc(size));
      // Binaries have a header, tables of zeros, and names among their code.
      content.write('\x7fELF\x02\x01\x01\0\0\0\0\0', 0, 'latin1');
      for (let at = 512; at + 512 < size; at += 4096) content.fill(0, at, at + 256);
      this.#text.make(this.#random, Math.floor(size / 8)).copy(content, Math.floor(size / 2));
      this.#save(this.#nextPath(this.#random.pick(['.bin', '.o', '.so'])), content);
    }
  }

  #writeArchives(place: 'zip' | 'tar_gz' | 'nested', bytes: number, secrets: number): void {
    const sizes = this.#fileSizes(bytes);
    const counts = this.#spread(secrets, sizes.length);
    for (let from = 0; from < sizes.length; from += ENTRIES_OF_ARCHIVE) {
      const isOdd = (from / ENTRIES_OF_ARCHIVE) % 2 === 1;
      const inner = isOdd ? 'inner.zip' : 'inner.tar.gz';
      const path = this.#nextPath(place === 'zip' || (place === 'nested' && !isOdd) ? '.zip' : '.tar.gz');
      const prefix = place === 'nested' ? `${path}!${inner}!` : `${path}!`;
      const files = sizes.slice(from, from + ENTRIES_OF_ARCHIVE).map((size, index): ArchiveFile => {
        const name = `${fileName(this.#random)}/${fileName(this.#random)}-${index}${this.#random.pick(ENDINGS)}`;
        const planted = Array.from({ length: counts[from + index]! }, () =>
          lineWith(this.#plant(prefix + name, place), this.#random),
        );
        return { name, content: this.#text.make(this.#random, Math.max(size, this.#roomFor(planted)), planted) };
      });
      if (place === 'zip') this.#save(path, makeZip(files));
      else if (place === 'tar_gz') this.#save(path, makeTarGz(files));
      else if (isOdd) this.#save(path, makeTarGz([{ name: inner, content: makeZip(files) }]));
      else this.#save(path, makeZip([{ name: inner, content: makeTarGz(files) }]));
    }
  }

  #roomFor(lines: readonly string[]): number {
    return lines.reduce((sum, line) => sum + line.length + 2, 0);
  }

  /** Number of `secrets` in each of `files` files. */
  #spread(secrets: number, files: number): number[] {
    const counts = new Array<number>(files).fill(0);
    for (let index = 0; index < secrets; index += 1) counts[this.#random.below(files)]! += 1;
    return counts;
  }
}

/** UTF-16 with its byte order mark. */
function utf16(text: Buffer, isBigEndian: boolean): Buffer {
  const wide = Buffer.from(`\ufeff${text.toString('latin1')}`, 'utf16le');
  return isBigEndian ? wide.swap16() : wide;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [directory, megabytes, secrets] = process.argv.slice(2);
  if (directory === undefined) throw new Error('usage: generate-tree.ts DIRECTORY [MEGABYTES [SECRETS]]');
  mkdirSync(dirname(directory), { recursive: true });
  const { directory: tree, manifest } = await generateTree({
    directory,
    ...(megabytes === undefined ? {} : { bytes: Number(megabytes) * 1e6 }),
    ...(secrets === undefined ? {} : { secrets: Number(secrets) }),
  });
  console.log(`${tree}: ${manifest.files} files, ${manifest.file_bytes} bytes, ${manifest.planted.length} secrets`);
}
