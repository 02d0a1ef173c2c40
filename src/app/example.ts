import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { PACKAGE_DIRECTORY } from './package.ts';
import type { System } from './wiring.ts';

/** What `examples/file-inventory/run` offers: serves its webhook targets and submits its batch. */
interface ExampleModule {
  startExample(options: { apiUrl: string; token?: string; log: Logger; directory: string }): Promise<{
    batchId: string;
    /** A table once the batch has ended; null where the example is closed before. */
    report: Promise<string | null>;
    close(): Promise<void>;
  }>;
}

export interface RunningExample {
  batchId: string;
  /** For the one who shows it; undefined where no token is needed. */
  token: string | undefined;
  /** A table once the batch has ended; null where the example is closed before. */
  report: Promise<string | null>;
  close(): Promise<void>;
}

interface ExampleOptions {
  system: System;
  dataDir: string;
  /** Whether the database belongs to the data directory, so that a mark there speaks of it. */
  embedded: boolean;
  clock: Clock;
  log: Logger;
}

const MARK = 'example.json';
const TOKEN_LIFE_MS = 3_600_000;
const POLL_MS = 2_000;

/** Whether the example is to run: nothing was ever submitted, or it was cut short the last time. */
export async function isExampleDue({ system, dataDir, embedded }: ExampleOptions): Promise<boolean> {
  const mark = embedded ? await readFile(join(dataDir, MARK), 'utf8').catch(() => null) : null;
  if (mark !== null) return !(JSON.parse(mark) as { finished: boolean }).finished;
  return (await system.engine.listWorkflows({ offset: 0, limit: 1 })).length === 0;
}

/** Starts the example and its mark; null where it is not installed. */
export async function startExample(options: ExampleOptions): Promise<RunningExample | null> {
  const { system, log, dataDir } = options;
  const path = ['run.js', 'run.ts'].map((name) => join(PACKAGE_DIRECTORY, 'examples', 'file-inventory', name));
  const found = path.find((each) => existsSync(each));
  if (found === undefined) return null;
  const module = (await import(pathToFileURL(found).href)) as ExampleModule;
  const token = system.tokensRequired ? await exampleToken(options) : undefined;
  const running = await module.startExample({
    apiUrl: system.url,
    log: log.child({ part: 'example' }),
    directory: dataDir,
    ...(token === undefined ? {} : { token: token.text }),
  });
  await writeMark(options, running.batchId, false);
  return {
    batchId: running.batchId,
    token: token?.text,
    report: running.report,
    close: async () => {
      await running.close();
      if (token !== undefined) await system.tokens.revoke(token.token.id);
    },
  };
}

async function exampleToken({ system, clock }: ExampleOptions) {
  return system.tokens.create('the example', ['submit', 'operate'], clock.now() + TOKEN_LIFE_MS);
}

/** Waits for the example's end, and marks it as run. */
export async function awaitExample(options: ExampleOptions, batchId: string, stop: AbortSignal): Promise<void> {
  const { system, clock } = options;
  while (!stop.aborted) {
    const workflow = await system.engine.getWorkflow(batchId).catch(() => null);
    if (workflow?.remaining === 0) return writeMark(options, batchId, true);
    await clock.sleep(POLL_MS, stop);
  }
}

async function writeMark({ dataDir, embedded }: ExampleOptions, batch_id: string, finished: boolean): Promise<void> {
  if (embedded) await writeFile(join(dataDir, MARK), `${JSON.stringify({ batch_id, finished })}\n`);
}
