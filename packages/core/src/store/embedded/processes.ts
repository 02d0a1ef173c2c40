import { execFileSync, spawn, type StdioOptions } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

/** User that a child runs as. */
export interface Account {
  uid: number;
  gid: number;
  name: string;
}

export interface CommandResult {
  /** Null if the command could not be started or was killed. */
  code: number | null;
  output: string;
}

const LINUX = process.platform === 'linux';

/** Children get a fixed environment, so that variables such as PGDATA or LC_ALL of the caller have no effect. */
export const CHILD_ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** Options of `spawn` to run a child as another user; no account means the current user. */
export function runAs(account: Account | undefined): { uid?: number; gid?: number } {
  return account === undefined ? {} : { uid: account.uid, gid: account.gid };
}

/** Runs a command to completion; never throws. The output is standard output and error combined. */
export function runCommand(command: string, args: readonly string[], account?: Account): Promise<CommandResult> {
  return new Promise((resolve) => {
    const options = { cwd: '/', env: CHILD_ENVIRONMENT, ...runAs(account) };
    let output = '';
    try {
      const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
      const collect = (chunk: Buffer): void => {
        output += chunk.toString();
      };
      child.stdout.on('data', collect);
      child.stderr.on('data', collect);
      child.on('error', (error) => resolve({ code: null, output: output + error.message }));
      child.on('close', (code) => resolve({ code, output }));
    } catch (error) {
      resolve({ code: null, output: String(error) });
    }
  });
}

/**
 * Returns a mark that distinguishes a process from a later one with the same number; undefined if it is gone (a zombie
 * counts as gone).
 */
export function processStart(pid: number): string | undefined {
  try {
    if (!LINUX) return ps(pid, 'lstart') ?? undefined;
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain spaces; the state follows it as field 3, the start time is field 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return `${fields[19] ?? ''}@${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}`;
  } catch {
    return undefined;
  }
}

/** Returns whether a live process is a PostgreSQL server (on Linux, or one of its children) of this data directory. */
export function isPostgresOf(pid: number, clusterDirectory: string): boolean {
  if (processStart(pid) === undefined) return false;
  try {
    if (!LINUX) {
      const command = ps(pid, 'command') ?? '';
      return command.includes('postgres') && command.includes(clusterDirectory);
    }
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    if (!command.includes('postgres')) return false;
    // Servers make the data directory their working directory.
    return command.split('\0').includes(clusterDirectory) || readlinkSync(`/proc/${pid}/cwd`) === clusterDirectory;
  } catch {
    return false;
  }
}

/** Returns the running children of a killed server; Linux only. */
export function orphanedBackends(clusterDirectory: string): number[] {
  if (!LINUX) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isPostgresOf(pid, clusterDirectory));
}

/** Sends a signal; returns false if the process is gone. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

function ps(pid: number, column: string): string | null {
  const stdio: StdioOptions = ['ignore', 'pipe', 'ignore'];
  const args = ['-o', 'stat=', '-o', `${column}=`, '-p', String(pid)];
  const output = execFileSync('ps', args, { encoding: 'utf8', env: CHILD_ENVIRONMENT, stdio });
  const [state = '', ...rest] = output.trim().split(/\s+/);
  return state.startsWith('Z') || rest.length === 0 ? null : rest.join(' ');
}
