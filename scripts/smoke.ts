/**
 * `node scripts/smoke.ts [COMMAND...]`: what a newcomer does. Starts the system (`npm start` unless a command is given)
 * with an empty data directory on a free port, waits until the example has run to the end, presses Ctrl-C, and checks
 * that everything ended cleanly: exit code 0 and no process left. Linux only, since it looks for processes in /proc.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '@heddle/base/thrown';

const ROOT = join(import.meta.dirname, '..');
const HEALTHY_SECS_MAX = 120;
const EXAMPLE_SECS_MAX = 240;
const STOP_SECS_MAX = 30;
const POLL_MS = 250;

interface Workflow {
  state: string;
  id: string;
  name: string | null;
  task_count: number;
  remaining: number;
}

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts the system as the leader of a process group, so that a Ctrl-C reaches what a terminal would reach. */
function start(command: readonly string[], dataDirectory: string, port: number): ChildProcess {
  const [program = 'npm', ...args] = command;
  const env = { ...process.env, HEDDLE_DATA_DIR: dataDirectory, PORT: String(port) };
  for (const name of ['DATABASE_URL', 'HOST_URL', 'HEDDLE_TEST_DATABASE_URL']) Reflect.deleteProperty(env, name);
  return spawn(program, args, { cwd: ROOT, env, detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
}

function ending(child: ChildProcess): Promise<Ended> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      resolve({ code, signal });
    });
  });
}

/** Polls until the condition gives a value; throws after the deadline, or once the system has ended. */
async function until<T>(
  what: string,
  secsMax: number,
  ended: () => Ended | null,
  check: () => Promise<T | null>,
): Promise<T> {
  const deadline = performance.now() + secsMax * 1000;
  for (;;) {
    const value = await check();
    if (value !== null) return value;
    const end = ended();
    if (end !== null) throw new Error(`the system ended (${describe(end)}) before ${what}`);
    if (performance.now() > deadline) throw new Error(`${what}: not within ${secsMax} s`);
    await sleep(POLL_MS);
  }
}

/** The answer's JSON; null where no one listens yet or the answer is not a success. */
async function getJson(url: string): Promise<unknown> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

/** Null while one of them runs. @throws Error where one came to a bad end */
async function endedWorkflows(base: string): Promise<Workflow[] | null> {
  const workflows = (await getJson(`${base}/v1/workflows`)) as Workflow[] | null;
  if (workflows === null || workflows.length === 0 || workflows.some(({ remaining }) => remaining > 0)) return null;
  const bad = workflows.find(({ state }) => state !== 'Succeeded');
  if (bad !== undefined) throw new Error(`${bad.name ?? 'the workflow'} ended as ${bad.state}`);
  return workflows;
}

/** Processes that name the data directory in their arguments or environment: they can only be ours. */
function processesOf(dataDirectory: string): string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .flatMap((pid) => {
      const told = readIfThere(`/proc/${pid}/cmdline`) + readIfThere(`/proc/${pid}/environ`);
      return told.includes(dataDirectory)
        ? [`${pid} ${readIfThere(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`]
        : [];
    });
}

/** Empty where the process has gone, or is another user's. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function describe({ code, signal }: Ended): string {
  return signal === null ? `code ${code}` : `signal ${signal}`;
}

function say(message: string): void {
  console.log(`smoke: ${message}`);
}

async function smoke(command: readonly string[], dataDirectory: string): Promise<void> {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const child = start(command, dataDirectory, port);
  let end: Ended | null = null;
  const ended = ending(child).then((how) => (end = how));
  try {
    await until(
      '/health answers',
      HEALTHY_SECS_MAX,
      () => end,
      () => getJson(`${base}/health`),
    );
    say(`healthy at ${base}`);
    const workflows = await until(
      'the example is done',
      EXAMPLE_SECS_MAX,
      () => end,
      () => endedWorkflows(base),
    );
    say(`done: ${workflows.map(({ name, task_count }) => `${name ?? 'workflow'} (${task_count} tasks)`).join(', ')}`);
    process.kill(-child.pid!, 'SIGINT');
    await until(
      'stopped after Ctrl-C',
      STOP_SECS_MAX,
      () => null,
      () => Promise.resolve(end),
    );
    const how = await ended;
    if (how.code !== 0) throw new Error(`Ctrl-C ended it with ${describe(how)} instead of code 0`);
    const left = processesOf(dataDirectory);
    if (left.length > 0) throw new Error(`processes were left behind:\n${left.join('\n')}`);
    say('stopped with code 0, no process left');
  } finally {
    await killRest(child, dataDirectory);
  }
}

/** Ends whatever of ours still runs after a failure, so that a failed smoke test leaves nothing either. */
async function killRest(child: ChildProcess, dataDirectory: string): Promise<void> {
  const pids = processesOf(dataDirectory).map((line) => Number(line.split(' ')[0]));
  if (pids.length === 0) return;
  for (const pid of [-child.pid!, ...pids])
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself in the meantime.
    }
  const deadline = performance.now() + 5000;
  while (processesOf(dataDirectory).length > 0 && performance.now() < deadline) await sleep(POLL_MS);
}

const dataDirectory = mkdtempSync(join(tmpdir(), 'heddle-smoke-'));
// PostgreSQL refuses to run as root; where this runs as root, the server's own user must reach its data.
chmodSync(dataDirectory, 0o755);
try {
  const command = process.argv.slice(2);
  await smoke(command.length > 0 ? command : ['npm', 'start'], join(dataDirectory, 'data'));
  rmSync(dataDirectory, { recursive: true, force: true });
} catch (error) {
  // The directory stays, for finding the reason.
  console.error(`smoke: FAILED: ${messageOf(error)} (data: ${dataDirectory})`);
  process.exitCode = 1;
}
