import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';

/** A directory for one test file, removed at the end. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'heddle-source-'));
  after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A file's content; `-> target`: a link; null: an empty directory. */
export type Tree = Readonly<Record<string, string | Uint8Array | null>>;

/** Creates files by their path below `root`. */
export function makeTree(root: string, tree: Tree): string {
  mkdirSync(root, { recursive: true });
  for (const [path, content] of Object.entries(tree)) {
    const full = join(root, path);
    mkdirSync(content === null ? full : dirname(full), { recursive: true });
    if (content === null) continue;
    if (typeof content === 'string' && content.startsWith('-> ')) symlinkSync(content.slice(3), full);
    else writeFileSync(full, content);
  }
  return root;
}
