import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { withChecksum } from '@heddle/test-support/scan/with-checksum';

/** A made-up token that matches the built-in rules; the same for the same seed. */
export function madeUpToken(seed: string | number): string {
  const digits = createHash('sha512')
    .update(`made up ${seed}`)
    .digest('base64')
    .replaceAll(/[^A-Za-z0-9]/g, '');
  return withChecksum('crc32-base62', `ghp_${digits.slice(0, 36)}`);
}

/** A new directory with these files; `remove` deletes it. */
export class Tree {
  readonly root: string;

  constructor(files: Readonly<Record<string, string | Buffer>> = {}) {
    this.root = mkdtempSync(join(tmpdir(), 'heddle-scan-'));
    for (const [path, content] of Object.entries(files)) this.write(path, content);
  }

  write(path: string, content: string | Buffer): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), content);
  }

  delete(path: string): void {
    rmSync(join(this.root, path), { recursive: true });
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
