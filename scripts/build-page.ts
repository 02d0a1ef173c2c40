/** Builds the browser page into web/dist, unless the last build was made from these very sources. */
import { createHash } from 'node:crypto';
import { readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

const root = join(import.meta.dirname, '..');
const web = join(root, 'web');
const output = join(web, 'dist');
const stampFile = join(output, '.stamp');

/** Files beside web/src that a build depends on; the lock file stands for every package. */
const INPUTS = ['web/index.html', 'web/vite.config.ts', 'web/tsconfig.json', 'package-lock.json'];

async function sourceHash(): Promise<string> {
  const entries = await readdir(join(web, 'src'), { recursive: true, withFileTypes: true });
  const sources = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files = [...INPUTS.map((name) => join(root, name)), ...sources].sort();
  const hash = createHash('sha256');
  for (const file of files) {
    const content = await readFile(file);
    hash.update(`${relative(root, file)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

async function readStamp(): Promise<string | null> {
  try {
    // A stamp without its page (a build that was cut short, a hand that cleaned up) does not count.
    await readFile(join(output, 'index.html'));
    return await readFile(stampFile, 'utf8');
  } catch {
    return null;
  }
}

async function main(): Promise<void> {
  let hash: string;
  try {
    hash = await sourceHash();
  } catch (error) {
    // An installed package ships the built page without its sources: there is nothing to build from.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if ((await readStamp()) === hash) return;
  process.stdout.write('building the page (web/dist)…\n');
  // Loaded only when there is something to build: it takes longer than the check above.
  const { build } = await import('vite');
  // Built aside, on the same disk, and then put in place: others may read the page meanwhile, or build it too.
  const aside = join(web, 'node_modules', `.page-${process.pid}`);
  await build({ configFile: join(web, 'vite.config.ts'), root: web, logLevel: 'warn', build: { outDir: aside } });
  await writeFile(join(aside, '.stamp'), hash);
  try {
    await rm(output, { recursive: true, force: true });
    await rename(aside, output);
  } catch (error) {
    await rm(aside, { recursive: true, force: true });
    // Another process was a moment faster: what it put there was made from the same sources.
    if ((await readStamp()) !== hash) throw error;
  }
}

await main();
