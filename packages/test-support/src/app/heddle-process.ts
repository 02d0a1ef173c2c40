/** Runs the `heddle` command as real processes, and checks what they leave behind. Linux: it reads /proc. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { eventually } from '../eventually.ts';
import { CATALOG_OPTIONS } from '../modules/catalog.ts';
import { databaseDirectory } from '../postgres.ts';

const MAIN = join(import.meta.dirname, '../../../heddle/src/cli/main.ts');
const READY_DEADLINE_MS = 90_000;
const EXIT_DEADLINE_MS = 90_000;

export type Environment = Readonly<Record<string, string>>;

/** The environment of the test process must not affect the result. */
function environmentOf(own: Environment): Record<string, string> {
  const inherited = ['PATH', 'HOME', 'TMPDIR', 'HEDDLE_TEST_RUN', 'NODE_COMPILE_CACHE'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(inherited), ...own };
}

export interface Ready {
  event: 'ready';
  url: string;
  port: number;
  pid: number;
}

/** One run of the command. */
export class HeddleProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly exited: Promise<number | null>;

  constructor(args: readonly string[], environment: Environment) {
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    const options = { env: environmentOf(environment), stdio: [...stdio] };
    this.child = spawn(process.execPath, [...CATALOG_OPTIONS, MAIN, ...args], options);
    this.child.stdout!.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    this.child.stderr!.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.exited = once(this.child, 'close').then(([code]) => code as number | null);
  }

  /** The JSON documents on standard output so far. */
  get events(): { event: string }[] {
    const lines = this.stdout.split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as { event: string });
  }

  get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Waits for an event of `--json`; fails at once if the process ends before. */
  async event<Found extends { event: string }>(name: Found['event'], deadlineMs = READY_DEADLINE_MS): Promise<Found> {
    const found = await eventually(
      () => this.events.find(({ event }) => event === name) ?? (this.ended ? 'ended' : undefined),
      `the event ${name}`,
      deadlineMs,
    );
    if (found === 'ended') throw new Error(`The process ended before ${name}:\n${this.stdout}\n${this.stderr}`);
    return found as Found;
  }

  ready(): Promise<Ready> {
    return this.event<Ready>('ready');
  }

  /** Sends a signal and resolves with the exit code; null if the signal killed it. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.child.kill(signal);
    await eventually(() => this.ended, `the end of process ${this.child.pid ?? 0} after ${signal}`, EXIT_DEADLINE_MS);
    return this.exited;
  }
}

/** Runs a command to completion. */
export async function heddle(
  args: readonly string[],
  environment: Environment,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const run = new HeddleProcess(args, environment);
  const code = await run.exited;
  return { code, stdout: run.stdout, stderr: run.stderr };
}

/** A data directory for processes; `dispose` kills processes that still use it and removes it. */
export class DataDirectory {
  readonly path = databaseDirectory('heddle-app-');

  /** A directory whose database is complete, for tests of what follows the first start. Empty without a template. */
  static prepared(): DataDirectory {
    const directory = new DataDirectory();
    const template = process.env['HEDDLE_TEST_DATA_TEMPLATE'];
    // Keeps the owner, which is the user of the database.
    if (template !== undefined) execFileSync('cp', ['-a', `${template}/.`, directory.path]);
    return directory;
  }

  /** The settings of a quiet `up` on a free port. */
  get environment(): Record<string, string> {
    return { HEDDLE_DATA_DIR: this.path, PORT: '0', HEDDLE_EXAMPLES: '0' };
  }

  up(environment: Environment = {}, flags: readonly string[] = ['--json', '--verbose']): HeddleProcess {
    return new HeddleProcess(['up', ...flags], { ...this.environment, ...environment });
  }

  /** Processes of this directory: Heddle, PostgreSQL with its backends, the watchdog. */
  processes(): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .map(Number)
      .filter((pid) => speaksOf(pid, this.path));
  }

  kill(): void {
    for (const pid of this.processes()) signal(pid, 'SIGKILL');
  }

  async gone(): Promise<void> {
    await eventually(() => this.processes().length === 0, `no process of ${this.path} is left`, EXIT_DEADLINE_MS);
  }

  async dispose(): Promise<void> {
    this.kill();
    await this.gone();
    rmSync(this.path, { recursive: true, force: true });
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended by itself in the meantime.
  }
}

/** Whether a live process names the directory in its command line or environment, or works in it. */
function speaksOf(pid: number, directory: string): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    if (status.slice(status.lastIndexOf(')') + 2).startsWith('Z')) return false;
    const told = readFileSync(`/proc/${pid}/cmdline`, 'utf8') + readFileSync(`/proc/${pid}/environ`, 'utf8');
    return told.includes(directory) || readlinkSync(`/proc/${pid}/cwd`).startsWith(directory);
  } catch {
    return false;
  }
}

/** Sends an API request with a JSON body. */
export async function request(
  base: string,
  method: string,
  path: string,
  options: { body?: unknown; token?: string } = {},
): Promise<{ status: number; json: unknown }> {
  const { body, token } = options;
  const response = await fetch(`${base}${path}`, {
    method,
    headers: {
      connection: 'close',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? null : JSON.parse(text) };
}

/** Submits tasks that no worker claims, and returns their ids once they are acknowledged. */
export async function submit(base: string, count: number, name = 'stored'): Promise<string[]> {
  const tasks = Array.from({ length: count }, (_, at) => ({ name: `${name} ${at}`, kind: 'nobody-takes-it' }));
  const { status, json } = await request(base, 'POST', '/task', { body: tasks });
  if (status !== 201) throw new Error(`POST /task answered ${status}`);
  return (json as { id: string }[]).map(({ id }) => id);
}
