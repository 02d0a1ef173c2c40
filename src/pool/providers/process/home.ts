import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

/** Where the runners of one machine stand within a data directory, and what this provider is called there. */
export interface RunnersHome {
  readonly directory: string;
  /** Differs between machines and between data directories: each knows its own processes only. */
  readonly name: string;
}

const UNSAFE = /[^A-Za-z0-9._-]+/g;

/** Makes the directory where it is not there yet. */
export function runnersHome(dataDir: string, host: string): RunnersHome {
  const machine = host.replace(UNSAFE, '-').slice(0, 60) || 'machine';
  const directory = join(dataDir, 'runners', machine);
  mkdirSync(directory, { recursive: true });
  const key = createHash('sha256')
    .update(`${machineId()}:${realpathSync(directory)}`)
    .digest('hex')
    .slice(0, 8);
  return { directory, name: `process@${machine}/${key}` };
}

/** Tells machines of one name apart, where the system says so. */
function machineId(): string {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim();
  } catch {
    return '';
  }
}
