import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Directory of the runners of one machine within a data directory, and the name of the provider. */
export interface RunnersHome {
  /** Created with the first launch. */
  readonly directory: string;
  /** Unique per machine and data directory, since each provider sees only its own processes. */
  readonly name: string;
}

const UNSAFE = /[^A-Za-z0-9._-]+/g;

export function runnersHome(dataDir: string, host: string): RunnersHome {
  const machine = host.replace(UNSAFE, '-').slice(0, 60) || 'machine';
  const directory = resolve(join(dataDir, 'runners', machine));
  const key = createHash('sha256').update(`${machineId()}:${directory}`).digest('hex').slice(0, 8);
  return { directory, name: `process@${machine}/${key}` };
}

/** Distinguishes machines with the same host name, if the system provides an ID. */
function machineId(): string {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim();
  } catch {
    return '';
  }
}
