import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Where the runners of one machine stand within a data directory, and what this provider is called there. */
export interface RunnersHome {
  /** Made with the first launch. */
  readonly directory: string;
  /** Differs between machines and between data directories: each knows its own processes only. */
  readonly name: string;
}

const UNSAFE = /[^A-Za-z0-9._-]+/g;

export function runnersHome(dataDir: string, host: string): RunnersHome {
  const machine = host.replace(UNSAFE, '-').slice(0, 60) || 'machine';
  const directory = resolve(join(dataDir, 'runners', machine));
  const key = createHash('sha256').update(`${machineId()}:${directory}`).digest('hex').slice(0, 8);
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
