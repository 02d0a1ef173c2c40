import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const IMAGE = 'localhost/heddle-test-commands:2';
const ENVIRONMENT = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/root' };
/** The engine of Debian; its images never come from a network here. */
export const ENGINE = { command: 'podman', environment: ENVIRONMENT, parameters: ['--pull=never'] };

const PROGRAMS = [
  ...['bash', 'cat', 'chmod', 'cut', 'dd', 'env', 'head', 'ln', 'ls', 'mkdir', 'mkfifo', 'mknod', 'mount'],
  ...['mv', 'nice', 'nohup', 'perl', 'renice', 'rm', 'seq', 'setsid', 'sh', 'sleep', 'sort', 'touch', 'tr'],
  ...['true', 'truncate', 'unshare', 'wc', 'yes'],
];

/**
 * Imports a root file system with a few programs of this machine as an image.
 * @throws Error that says which package is missing
 */
export async function importImage(): Promise<string> {
  await run('podman', ['--version']).catch(() => {
    throw new Error('podman is not installed: scripts/install-test-tools.sh installs it');
  });
  const root = await mkdtemp(join(tmpdir(), 'heddle-image-'));
  try {
    for (const folder of ['bin', 'etc', 'proc', 'dev', 'sys', 'tmp', 'root', 'work', 'var', 'usr']) {
      await mkdir(join(root, folder));
    }
    // Engines give a temporary file system the mode of the directory that it covers.
    await chmod(join(root, 'tmp'), 0o1777);
    for (const program of PROGRAMS) await copyProgram(program, root);
    await run('tar', ['-C', root, '-cf', `${root}.tar`, '.']);
    await run('podman', ['import', `${root}.tar`, IMAGE]);
    return IMAGE;
  } finally {
    await rm(root, { recursive: true, force: true });
    await rm(`${root}.tar`, { force: true });
  }
}

async function copyProgram(program: string, root: string): Promise<void> {
  const path = (await run('which', [program])).stdout.trim();
  await cp(path, join(root, 'bin', program), { dereference: true });
  const { stdout: libraries } = await run('ldd', [path]);
  for (const [library] of libraries.matchAll(/\/\S+/g)) {
    await mkdir(join(root, dirname(library)), { recursive: true });
    await cp(library, join(root, library), { dereference: true });
  }
}
