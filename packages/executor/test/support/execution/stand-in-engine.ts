/**
 * Stand-in for a container engine's command: parses the arguments of `docker run` and runs the program with the same
 * mounts in bubblewrap. A file per running container lets `rm --force` kill it.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.env['STAND_IN_FOLDER'] ?? '/nowhere';
const [verb, ...rest] = process.argv.slice(2);

function valuesOf(name: string): string[] {
  return rest.flatMap((word, index) => (word === name ? [rest[index + 1] ?? ''] : []));
}

function mountsOf(): string[] {
  return valuesOf('--mount').flatMap((mount) => {
    const { source = '', target = '' } = Object.fromEntries(mount.split(',').map((part) => part.split('='))) as Record<
      string,
      string
    >;
    return ['--ro-bind', source, target];
  });
}

function start(): void {
  const [name = ''] = valuesOf('--name');
  const imageAt = rest.indexOf('stand-in-image');
  const child = spawn(
    'bwrap',
    [
      ...['--unshare-all', '--die-with-parent', '--new-session', '--as-pid-1', '--uid', '65534', '--gid', '65534'],
      ...['--ro-bind', '/usr', '/usr', '--symlink', 'usr/bin', '/bin', '--symlink', 'usr/lib', '/lib'],
      ...['--symlink', 'usr/lib64', '/lib64', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
      ...['--ro-bind', process.execPath, '/opt/node', ...mountsOf(), '--remount-ro', '/', '--chdir', '/tmp'],
      ...['--setenv', 'PATH', '/opt:/usr/bin:/bin', 'sh', ...rest.slice(imageAt + 1)],
    ],
    { stdio: 'inherit', env: {}, detached: true },
  );
  writeFileSync(join(folder, name), String(child.pid));
  child.once('exit', (code, signal) => {
    rmSync(join(folder, name), { force: true });
    process.exit(signal === null ? (code ?? 1) : 137);
  });
}

function remove(): void {
  const name = rest.at(-1) ?? '';
  try {
    process.kill(Number(readFileSync(join(folder, name), 'utf8')), 'SIGKILL');
  } catch {
    // It has ended.
  }
  rmSync(join(folder, name), { force: true });
}

appendFileSync(join(folder, 'calls'), `${JSON.stringify([verb, ...rest])}\n`);
if (verb === 'run') start();
else if (verb === 'rm') remove();
else if (verb === 'image' && rest.at(-1) !== 'stand-in-image') process.exit(1);
