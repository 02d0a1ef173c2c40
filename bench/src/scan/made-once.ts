import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What was made in the directory `home` is kept there for later runs, with a description of it. An interrupted run leaves
 * nothing that looks complete.
 *
 * @param make fills a new directory and returns its description
 */
export async function madeOnce<Description>(
  home: string,
  make: (directory: string) => Description | Promise<Description>,
): Promise<Description> {
  const manifest = join(home, 'manifest.json');
  if (!existsSync(manifest)) {
    const partial = `${home}.partial-${process.pid}`;
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(partial, { recursive: true });
    const made = await make(partial);
    writeFileSync(join(partial, 'manifest.json'), `${JSON.stringify(made, null, 1)}\n`);
    rmSync(home, { recursive: true, force: true });
    renameSync(partial, home);
  }
  return JSON.parse(readFileSync(manifest, 'utf8')) as Description;
}
