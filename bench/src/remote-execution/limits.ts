import { setTimeout as sleep } from 'node:timers/promises';
import type { RemoteExecutor } from '@heddle/executor/internal/client/index';
import type { RemoteDeadlineRequest, RemoteDeadlineRun, RemoteMemoryRequest, RemoteMemoryRun } from '../subject.ts';
import { CAP_MIB } from './events.ts';
import type { ExecutorSite } from './executor-site.ts';
import { descendantsOf, residentOf, statOf } from './processes.ts';

const TIMEOUT_SECS = 1;
/** By then a looping task has used more processor time than any other process, which identifies it. */
const LOOK_MS = 700;
const GIVE_UP_MS = 10_000;
/** Pause between two tasks, in which their successors are started ahead. */
const PAUSE_MS = 500;

interface Site {
  executor: ExecutorSite;
  client: RemoteExecutor;
}

/** Deadlines count from the submission, so the figure includes dispatching. */
export async function measureDeadlines(
  { executor, client }: Site,
  { tier, samples }: RemoteDeadlineRequest,
): Promise<RemoteDeadlineRun> {
  // In the jail no process can be started; elsewhere detached child processes must be found and terminated as well.
  const event = tier === 'jail' ? 'Spin' : 'SpinWithChildren';
  const run: RemoteDeadlineRun = { killed_ms: [], none_left_ms: [] };
  for (let sample = 0; sample < samples; sample += 1) {
    await sleep(PAUSE_MS);
    const deadlineAt = performance.now() + TIMEOUT_SECS * 1000;
    const ended = endOf(client, event, TIMEOUT_SECS);
    await sleep(LOOK_MS);
    const task = busiestOf(executor.pid);
    const tree = [task, ...ancestorsOf(task, executor.pid), ...descendantsOf(task)].map((pid) => identified(pid));
    if (tier === 'process' && tree.length < 4) throw new Error('the children of the task were not found');
    const [process] = tree as [Identified];
    await until(() => !isRunning(process));
    run.killed_ms.push(performance.now() - deadlineAt);
    await until(() => !tree.some(isRunning));
    run.none_left_ms.push(performance.now() - deadlineAt);
    expectCode(await ended, 'TASK_TIMEOUT');
  }
  return run;
}

/** Peak resident memory of the task's largest process, read every millisecond or two. */
export async function measureMemory(
  { executor, client }: Site,
  { allocates }: RemoteMemoryRequest,
): Promise<RemoteMemoryRun> {
  await sleep(PAUSE_MS);
  const idle_mib = Math.max(...descendantsOf(executor.pid).map((pid) => residentOf(pid).now));
  let peak_mib = 0;
  const look = (): void => {
    peak_mib = Math.max(peak_mib, ...descendantsOf(executor.pid).map((pid) => residentOf(pid).peak));
  };
  const ended = endOf(client, allocates === 'buffers' ? 'AllocateBuffers' : 'AllocateObjects', 60);
  while ((await Promise.race([ended, sleep(1)])) === undefined) look();
  expectCode(await ended, 'TASK_OOM');
  return { cap_mib: CAP_MIB, peak_mib, idle_mib };
}

function endOf(client: RemoteExecutor, event: string, timeoutSecs: number): Promise<string> {
  return client.submit(event, {}, { timeoutSecs }).then(
    () => 'a result',
    (error: unknown) => (error as { code?: string }).code ?? String(error),
  );
}

function expectCode(code: string, expected: string): void {
  if (code !== expected) throw new Error(`the task ended with ${code}, not ${expected}`);
}

function busiestOf(executor: number): number {
  const ticks = (pid: number): number => statOf(pid)?.cpu_ticks ?? 0;
  return descendantsOf(executor).reduce((a, b) => (ticks(b) > ticks(a) ? b : a));
}

/** The processes between a process and the one from which the executor starts all others, which remains. */
function ancestorsOf(pid: number, executor: number): number[] {
  const parent = statOf(pid)?.parent ?? executor;
  const grandparent = statOf(parent)?.parent ?? executor;
  return grandparent === executor || parent <= 1 ? [] : [parent, ...ancestorsOf(parent, executor)];
}

interface Identified {
  pid: number;
  started_at: number;
}

function identified(pid: number): Identified {
  return { pid, started_at: statOf(pid)?.started_at ?? -1 };
}

/** A process that has ended but is not yet reaped no longer runs. */
function isRunning({ pid, started_at }: Identified): boolean {
  const stat = statOf(pid);
  return stat?.started_at === started_at && !stat.zombie;
}

async function until(holds: () => boolean): Promise<void> {
  const startedAt = performance.now();
  while (!holds()) {
    if (performance.now() - startedAt > GIVE_UP_MS) throw new Error('processes of a task are still there');
    await sleep(1);
  }
}
