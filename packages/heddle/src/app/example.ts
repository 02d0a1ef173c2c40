import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { HeddleClient } from '@heddle/client';
import type { Random } from '@heddle/base/random';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { EXAMPLES_DIRECTORY } from './package.ts';
import type { SettingValues } from './settings.ts';
import type { StopSequence } from './stop-sequence.ts';
import type { System } from './wiring.ts';

/**
 * The interface of `examples/attack-surface/run`: services to scan, a job that scans them, its first run, its report.
 */
interface ExampleModule {
  startSurface(options: { heddle: unknown; log: Logger; directory: string }): Promise<Surface>;
}

interface Surface {
  /** Runs the job now; resolves with its workflow. */
  trigger(): Promise<string>;
  /** Returns what was found so far, formatted for display. */
  report(): Promise<string>;
  close(): Promise<void>;
}

export interface ExampleOptions {
  system: System;
  settings: SettingValues;
  /** Whether the database belongs to the data directory, so that a mark in the directory applies to it. */
  embedded: boolean;
  clock: Clock;
  random: Random;
  log: Logger;
  stopping: StopSequence;
}

/** The running example: its services listen and its job exists. */
export interface RunningExample {
  /** Token for showing the example; undefined if none is needed. */
  token: string | undefined;
  /** The workflow to show: the first run or an interrupted one; null if the example has run before. */
  workflowId: string | null;
  report(): Promise<string>;
}

const NAME = 'attack-surface';
const MARK = 'example.json';
const TOKEN_LIFE_MS = 3_600_000;
const POLL_MS = 500;

interface Mark {
  workflow_id: string;
  finished: boolean;
}

/**
 * Starts the example's services, creates its job, and runs it unless it has completed before. Returns null if the
 * example is not installed or nothing may be probed.
 */
export async function startExample(options: ExampleOptions, stop: AbortSignal): Promise<RunningExample | null> {
  const { system, log, settings, stopping } = options;
  const run = settings.reconEnabled ? runFile() : null;
  if (run === null) return null;
  const isFirst = await isDue(options);
  const module = (await import(pathToFileURL(run).href)) as ExampleModule;
  const token = system.tokensRequired ? await exampleToken(options) : undefined;
  const client = new HeddleClient({ baseUrl: system.url, ...(token === undefined ? {} : { token }) });
  const surface = await module.startSurface({
    heddle: { jobs: client.jobs, models: client.models },
    log: log.child({ part: 'example' }),
    directory: join(settings.dataDir, 'examples', NAME),
  });
  stopping.add('the example', () => surface.close());
  const workflowId = isFirst ? await firstRun(options, surface, stop) : null;
  return { token, workflowId, report: () => surface.report() };
}

function runFile(): string | null {
  const directory = join(EXAMPLES_DIRECTORY, NAME);
  return ['run.js', 'run.ts'].map((file) => join(directory, file)).find((file) => existsSync(file)) ?? null;
}

/** Whether to run it: nothing was ever submitted, or the last run was interrupted. */
async function isDue(options: ExampleOptions): Promise<boolean> {
  const mark = await readMark(options);
  if (mark !== null) return !mark.finished;
  return (await options.system.engine.listWorkflows({ offset: 0, limit: 1 })).workflows.length === 0;
}

/** The interrupted run, or a new one. */
async function firstRun(options: ExampleOptions, surface: Surface, stop: AbortSignal): Promise<string> {
  const { clock, system } = options;
  const mark = await readMark(options);
  const known = mark === null ? null : await system.engine.getWorkflow(mark.workflow_id);
  if (known !== null) return known.id;
  const workflowId = await surface.trigger();
  await writeMark(options, { workflow_id: workflowId, finished: false });
  // The manager picks it up shortly.
  while (!stop.aborted && (await system.engine.getWorkflow(workflowId)) === null) await clock.sleep(POLL_MS / 10, stop);
  return workflowId;
}

async function exampleToken({ system, clock, stopping }: ExampleOptions): Promise<string> {
  const created = await system.tokens.create('the example', ['submit', 'operate'], clock.now() + TOKEN_LIFE_MS);
  stopping.add("the example's token", async () => {
    await system.tokens.revoke(created.token.id);
  });
  return created.text;
}

/** Waits for the end of the first run, and marks the example as run. */
export async function waitForExample(options: ExampleOptions, workflowId: string, stop: AbortSignal): Promise<void> {
  const { system, clock } = options;
  while (!stop.aborted) {
    const workflow = await system.engine.getWorkflow(workflowId).catch(() => null);
    if (workflow?.remaining === 0) return writeMark(options, { workflow_id: workflowId, finished: true });
    await clock.sleep(POLL_MS, stop);
  }
}

async function readMark({ settings, embedded }: ExampleOptions): Promise<Mark | null> {
  if (!embedded) return null;
  const text = await readFile(join(settings.dataDir, MARK), 'utf8').catch(() => null);
  return text === null ? null : (JSON.parse(text) as Mark);
}

async function writeMark({ settings, embedded }: ExampleOptions, mark: Mark): Promise<void> {
  if (embedded) await writeFile(join(settings.dataDir, MARK), `${JSON.stringify(mark)}\n`);
}
