import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseOptions, USAGE } from './src/options.ts';
import type { Options } from './src/options.ts';
import { runBenches } from './src/run.ts';

const DIRECTORY = fileURLToPath(new URL('.', import.meta.url));

/** The peers are dependencies of this package only; the first run installs them. */
function installPeers(): void {
  if (existsSync(`${DIRECTORY}node_modules/.package-lock.json`)) return;
  console.error('First run: installing the peers (graphile-worker, pg-boss, BullMQ) into bench/node_modules ...');
  // Not `npm ci`: it rejects a lock file that omits optional packages missing in the registry.
  const { status } = spawnSync('npm', ['install', '--no-save', '--prefix', DIRECTORY, '--no-audit', '--no-fund'], {
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new Error('npm install failed in bench/: the peers cannot run');
}

function readOptions(): Options | 'help' {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

const options = readOptions();
if (options === 'help') {
  console.log(USAGE);
} else {
  installPeers();
  const complete = await runBenches(options, process.env['HEDDLE_BENCH_DATABASE_URL'], {
    note: options.json ? console.error : console.log,
    result: console.log,
  });
  process.exitCode = complete ? 0 : 1;
}
