/**
 * Creates a directory with made-up secrets: `node examples/secret-scan/plant.ts [DIRECTORY]`. They are generated here
 * instead of stored in a file, so that no one mistakes them for real ones.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32, gzipSync } from 'node:zlib';

/** Directory that the workflow of this example scans. */
const DIRECTORY = '.heddle/secret-scan';
const ORDINARY_FILES = 30;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Letters and digits that look random but are always the same. */
function madeUp(name: string, length: number): string {
  const text = createHash('sha512').update(`made up: ${name}`).digest('base64');
  return text.replaceAll(/[^A-Za-z0-9]/g, '').slice(0, length);
}

/** A token in the form of GitHub's, whose last six characters are the checksum of the others. */
function token(name: string): string {
  const body = madeUp(name, 30);
  let checksum = '';
  for (let rest = crc32(body); checksum.length < 6; rest = Math.floor(rest / 62))
    checksum = BASE62[rest % 62]! + checksum;
  return `ghp_${body}${checksum}`;
}

/** Files with their content; every path except those of `src/` has one secret. */
export function plantedFiles(): Record<string, string | Uint8Array> {
  const inArchive = `export DEPLOY_TOKEN=${token('deploy')}\n`;
  const encoded = Buffer.from(`token: ${token('encoded')} # until Friday`).toString('base64');
  return {
    'config/app.env': `LOG_LEVEL=info\nGITHUB_TOKEN=${token('app')}\n`,
    'config/old.env': `GITHUB_TOKEN=${token('old')}\n`,
    'backup/deploy.sh.gz': gzipSync(inArchive),
    'notes.txt': `The build has it in its settings: ${encoded}\n`,
    ...Object.fromEntries(
      Array.from({ length: ORDINARY_FILES }, (_, n) => [`src/part-${n}.ts`, `export const part${n} = ${n};\n`]),
    ),
  };
}

/** Writes them again. */
export function plant(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  for (const [path, content] of Object.entries(plantedFiles())) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
}

if (import.meta.main) {
  const directory = process.argv[2] ?? DIRECTORY;
  plant(directory);
  console.log(`${Object.keys(plantedFiles()).length} files in ${directory}, four of them with a secret`);
}
