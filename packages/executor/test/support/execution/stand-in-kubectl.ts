/**
 * Stand-in for `kubectl` and its cluster: keeps a folder per job, runs processes in bubblewrap with the volumes of the
 * job's manifest, and kills them when the job is deleted. It does not validate manifests.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Manifest {
  metadata: { name: string };
  spec: {
    template: {
      spec: { containers: { workingDir: string; volumeMounts: { name: string; mountPath: string }[] }[] };
    };
  };
}

const folder = process.env['STAND_IN_FOLDER'] ?? '/nowhere';
const words = process.argv.slice(2).filter((word) => !word.startsWith('--namespace='));
const [verb = ''] = words;
const jobFolder = (name: string): string => join(folder, 'jobs', name);
const named = (): string => words.find((word) => word.startsWith('job/'))?.slice('job/'.length) ?? '';

function create(): void {
  const manifest = readFileSync(0, 'utf8');
  const { metadata } = JSON.parse(manifest) as Manifest;
  mkdirSync(jobFolder(metadata.name), { recursive: true });
  writeFileSync(join(jobFolder(metadata.name), 'manifest.json'), manifest);
  appendFileSync(join(folder, 'manifests'), `${manifest}\n`);
}

function execute(): void {
  const directory = jobFolder(named());
  const { spec } = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8')) as Manifest;
  const { workingDir, volumeMounts } = spec.template.spec.containers[0]!;
  const volumes = volumeMounts.flatMap(({ name, mountPath }) => {
    mkdirSync(join(directory, name), { recursive: true, mode: 0o777 });
    return ['--bind', join(directory, name), mountPath];
  });
  const network = process.env['STAND_IN_NETWORK'] ?? '';
  const child = spawn(
    'bwrap',
    [
      ...['--unshare-all', ...(network === '' ? [] : ['--share-net']), '--die-with-parent', '--new-session'],
      ...['--as-pid-1', '--ro-bind', '/usr', '/usr', '--symlink', 'usr/bin', '/bin', '--symlink', 'usr/lib', '/lib'],
      ...['--symlink', 'usr/lib64', '/lib64', '--proc', '/proc', '--dev', '/dev'],
      ...['--ro-bind', process.execPath, '/opt/node', ...volumes, '--remount-ro', '/', '--chdir', workingDir],
      ...['--setenv', 'PATH', '/opt:/usr/bin:/bin', '--setenv', 'KUBERNETES_SERVICE_HOST', '127.0.0.1'],
      ...['--setenv', 'KUBERNETES_SERVICE_PORT', network === '' ? '443' : network],
      ...words.slice(words.indexOf('--') + 1),
    ],
    { stdio: 'inherit', env: {}, detached: true },
  );
  writeFileSync(join(directory, `process-${child.pid}`), '');
  child.once('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 137));
}

function remove(): void {
  const directory = jobFolder(named());
  if (!existsSync(directory)) return;
  for (const entry of readdirSync(directory)) {
    if (!entry.startsWith('process-')) continue;
    try {
      process.kill(-Number(entry.slice('process-'.length)), 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
  rmSync(directory, { recursive: true, force: true });
}

appendFileSync(join(folder, 'calls'), `${JSON.stringify(words)}\n`);
if (verb === 'create') create();
else if (verb === 'exec') execute();
else if (verb === 'delete') remove();
else if (verb === 'auth' && words.join(' ').includes(process.env['STAND_IN_REFUSES'] ?? 'nothing at all')) {
  process.stdout.write('no\n');
  process.exitCode = 1;
}
