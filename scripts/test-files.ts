import { run } from 'node:test';
import type { EventData } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { patience } from '@heddle/test-support/patience';
import { IdleProcessors } from './idle-processors.ts';
import { endProcesses, MARK_VARIABLE } from './test-processes.ts';

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export interface FileResult extends Counts {
  /** From the root, with forward slashes. */
  path: string;
  duration_ms: number;
  /** What the report of node:test does not say: a file without tests, one that ended early. */
  problem: string | null;
  /** The commands of processes that outlived the file and were killed. */
  left: readonly string[];
  /** The events of node:test, for a reporter. */
  events: TestEvent[];
}

/** One event of node:test, as its reporters read it. */
export interface TestEvent {
  type: string;
  data: unknown;
}

export interface RunOptions {
  root: string;
  /** What the environment of this run's processes says. */
  mark: string;
  /** As many files run at any time. */
  concurrency: number;
  /** The upper limit while running files mostly wait. */
  concurrency_max: number;
  /** A file that takes longer, on a machine with nothing else to do, is killed and counts as failed. */
  file_timeout_ms: number;
  /** Modules that each file's process imports first. */
  imports: readonly string[];
  signal: AbortSignal;
}

/** More room for new objects than V8 begins with: a file that runs for seconds collects garbage less often. */
const NODE_OPTIONS = ['--min-semi-space-size=16'];
const IDLE_CHECK_MS = 1_000;
/** One more file runs at a time while more processors than this are idle, one less while fewer are. */
const IDLE_PROCESSORS = { more: 0.25, fewer: 0.05 };

/** Runs test files, each in a process of its own, and yields each one's result when it ends. */
export async function* runFiles(files: readonly string[], options: RunOptions): AsyncGenerator<FileResult> {
  const waiting = [...files];
  const running = new Map<string, Promise<FileResult>>();
  const idle = new IdleProcessors();
  const nextCheck = (): Promise<null> => sleep(IDLE_CHECK_MS, null, { ref: false });
  let check = nextCheck();
  let room = options.concurrency;
  while (waiting.length > 0 || running.size > 0) {
    while (running.size < room && !options.signal.aborted) {
      const path = waiting.shift();
      if (path === undefined) break;
      running.set(path, runFile(path, options));
    }
    if (running.size === 0) return;
    const result = await Promise.race([...running.values(), check]);
    if (result !== null) {
      running.delete(result.path);
      yield result;
    } else {
      check = nextCheck();
      const idleProcessors = idle.sinceLast();
      if (idleProcessors >= IDLE_PROCESSORS.more) room = Math.min(room + 1, options.concurrency_max);
      else if (idleProcessors < IDLE_PROCESSORS.fewer) room = Math.max(room - 1, options.concurrency);
    }
  }
}

/** A run of its own for each file, since only a run can be aborted, not one file of a run. */
async function runFile(path: string, options: RunOptions): Promise<FileResult> {
  const file = `${options.root}/${path}`;
  const result: FileResult = {
    path,
    passed: 0,
    failed: 0,
    skipped: 0,
    duration_ms: 0,
    problem: null,
    left: [],
    events: [],
  };
  const startedAt = performance.now();
  const timeout = new AbortController();
  const timeoutMs = options.file_timeout_ms * patience();
  const giveUp = (): void => {
    const tookMs = performance.now() - startedAt;
    if (tookMs < options.file_timeout_ms * patience()) return void (timer = setTimeout(giveUp, IDLE_CHECK_MS));
    result.problem = `took more than ${Math.round(tookMs / 1000)} s and was killed; does something keep it alive?`;
    timeout.abort(new Error(result.problem));
  };
  let timer = setTimeout(giveUp, timeoutMs);
  const mark = `${options.mark}${path}`;
  let complete = false;
  const stream = run({
    files: [file],
    cwd: options.root,
    execArgv: [...NODE_OPTIONS, ...options.imports.flatMap((url) => ['--import', url])],
    // A test that hangs fails a little before its file is killed, so that the report can name it.
    timeout: timeoutMs * 0.9,
    env: { ...process.env, [MARK_VARIABLE]: mark },
    signal: AbortSignal.any([options.signal, timeout.signal]),
  });
  for await (const event of stream as AsyncIterable<TestEvent>) {
    if (event.type === 'test:summary') complete ||= (event.data as EventData.TestSummary).file !== undefined;
    else if (!isTotal(event) && !isWholeFile(event, file, 'test:pass')) result.events.push(event);
    if (event.type === 'test:pass' || event.type === 'test:fail') count(result, event, file);
  }
  clearTimeout(timer);
  result.left = await endProcesses(mark);
  result.duration_ms = performance.now() - startedAt;
  judge(result, complete);
  return result;
}

function count(result: FileResult, event: TestEvent, file: string): void {
  if (isWholeFile(event, file, 'test:pass')) return;
  const data = event.data as EventData.TestFail;
  const { error, type } = data.details as Partial<EventData.TestFail['details']>;
  const left = [data.skip, data.todo].some((reason) => reason !== undefined && reason !== false);
  if (left) result.skipped += 1;
  else if (event.type === 'test:pass') result.passed += type === 'suite' ? 0 : 1;
  // A suite or parent that failed only because of its children is reported by them; one whose hook failed, here.
  else if ((error as { failureType?: string } | undefined)?.failureType !== 'subtestsFailed') result.failed += 1;
}

/** Fails a file that said nothing, or stopped saying: node:test lets both pass. */
function judge(result: FileResult, complete: boolean): void {
  if (result.problem === null && result.failed === 0 && !complete)
    result.problem = 'ended before its tests were reported: does it hold a test, or call process.exit?';
  else if (result.problem === null && result.passed + result.failed + result.skipped === 0)
    result.problem = 'holds no test';
  if (result.problem !== null && result.failed === 0) result.failed = 1;
}

/** True for the totals that a run prints at its end; the whole run has one summary of its own. */
function isTotal(event: TestEvent): boolean {
  return event.type === 'test:diagnostic' && (event.data as { file?: string }).file === undefined;
}

/** True for the event that stands for the file itself instead of a test of it. */
function isWholeFile(event: TestEvent, file: string, type: string): boolean {
  return event.type === type && (event.data as { name?: string }).name === file;
}

/** The slowest files first, for the foot of the report. */
export function slowest(results: readonly FileResult[], shown: number): FileResult[] {
  return [...results].sort((a, b) => b.duration_ms - a.duration_ms).slice(0, shown);
}
