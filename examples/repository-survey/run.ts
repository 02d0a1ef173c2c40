/**
 * Runs the survey: a job that runs every night, and a first run at once. The kinds run where `kinds.ts` is loaded; the
 * job's announcements are received while this listens.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { languageTable } from '../file-inventory/report-table.ts';
import { listenForAnnouncements, type Announcer } from './announcer.ts';
import type { SurveyReport } from './kinds.ts';
import { surveyWorkflow } from './workflow.ts';

export const JOB = 'repository-survey';
const CRON = '0 3 * * *';
const STATE_FILE = 'state.json';

/** Operations that the example needs from Heddle, provided by a client of its HTTP API. */
export interface Heddle {
  jobs: {
    get(job: string): Promise<unknown>;
    create(job: { name: string; cron: string; time_zone: string; workflow: never }): Promise<unknown>;
    update(job: string, change: { workflow: never }): Promise<unknown>;
    trigger(job: string): Promise<{ id: string; workflow_id: string | null }>;
  };
  readResults(workflowId: string): AsyncIterable<{ kind: string; data: unknown }>;
}

export interface SurveyOptions {
  heddle: Heddle;
  log: { info(fields: object, message: string): void };
  /** Location of the port and the key of the announcements. */
  directory: string;
  /** Directory whose files are surveyed. Default: this package's. */
  root?: string;
}

export interface Survey {
  /** Runs the job now; resolves with its workflow. */
  trigger(): Promise<string>;
  /** The report of a completed run, formatted for display; null if there is none. */
  report(workflowId: string): Promise<string | null>;
  close(): Promise<void>;
}

interface State {
  port: number;
  key: string;
}

export async function startSurvey({ heddle, log, directory, root }: SurveyOptions): Promise<Survey> {
  const file = join(directory, STATE_FILE);
  const known = await readState(file);
  const key = known?.key ?? randomBytes(24).toString('base64url');
  const announcer = await listenForAnnouncements(known?.port ?? 0, key, (text) => log.info({}, `survey: ${text}`));
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify({ port: announcer.port, key } satisfies State), { mode: 0o600 });
    await provideJob(heddle, announcer, key, resolve(root ?? join(import.meta.dirname, '..', '..')));
  } catch (error) {
    await announcer.close();
    throw error;
  }
  return {
    trigger: async () => {
      const { id, workflow_id } = await heddle.jobs.trigger(JOB);
      return workflow_id ?? id;
    },
    report: (workflowId) => reportOf(heddle, workflowId),
    close: () => announcer.close(),
  };
}

async function readState(file: string): Promise<State | null> {
  return readFile(file, 'utf8').then(
    (text) => JSON.parse(text) as State,
    () => null,
  );
}

/** Creates the job, or updates the target of announcements in the existing one. */
async function provideJob({ jobs }: Heddle, { port }: Announcer, key: string, root: string): Promise<void> {
  const announce = { url: `http://127.0.0.1:${port}/announce`, key };
  const workflow = surveyWorkflow({ root, announce }) as never;
  const exists = await jobs.get(JOB).then(
    () => true,
    (error: unknown) => {
      if ((error as { status?: number }).status === 404) return false;
      throw error;
    },
  );
  const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (exists) await jobs.update(JOB, { workflow });
  else await jobs.create({ name: JOB, cron: CRON, time_zone, workflow });
}

async function reportOf(heddle: Heddle, workflowId: string): Promise<string | null> {
  for await (const { kind, data } of heddle.readResults(workflowId)) {
    if (kind === 'survey.total') return tableOf(data as SurveyReport);
  }
  return null;
}

function tableOf({ languages, total, largest }: SurveyReport): string {
  const files = largest.map(({ path, bytes, sha256 }) => `  ${path} (${bytes} bytes, SHA-256 ${sha256.slice(0, 12)}…)`);
  return [...languageTable(languages, total), '', 'the largest files:', ...files].join('\n');
}
