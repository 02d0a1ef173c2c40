/**
 * Runs the example: its services, a job that scans them every night, and a first run at once. `heddle up` calls it at
 * each start, so that the job finds its services.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { listenForAnnouncements, type Announcer } from '../repository-survey/announcer.ts';
import { reportOf, type ShownModel } from './report.ts';
import { startServices, type SurfaceServices } from './services.ts';
import { surfaceWorkflow, TARGET } from './workflow.ts';

export const JOB = 'attack-surface';
const CRON = '0 4 * * *';
const STATE_FILE = 'state.json';

/** Operations that the example needs from Heddle, provided by a client of its HTTP API. */
export interface Heddle {
  jobs: {
    create(job: { name: string; cron: string; time_zone: string; workflow: never }): Promise<unknown>;
    update(job: string, change: { workflow: never }): Promise<unknown>;
    trigger(job: string): Promise<{ id: string; workflow_id: string | null }>;
  };
  models: { all(filter: { target: string }): AsyncIterable<ShownModel> };
}

export interface SurfaceOptions {
  heddle: Heddle;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** Location of certificates, ports and the key of the notifications. */
  directory: string;
}

export interface Surface {
  /** Runs the job now; resolves with its workflow. */
  trigger(): Promise<string>;
  /** The known state of the network, formatted for display. */
  report(): Promise<string>;
  close(): Promise<void>;
}

interface State {
  port: number;
  key: string;
}

export async function startSurface({ heddle, log, directory }: SurfaceOptions): Promise<Surface> {
  const services = await startServices({ directory });
  try {
    const listener = await listen(directory, log, services);
    const close = async (): Promise<void> => {
      await Promise.all([listener.close(), services.close()]);
    };
    try {
      await provideJob(heddle, services, listener);
    } catch (error) {
      await close();
      throw error;
    }
    log.info({}, `surface: ${services.count} services at ${services.addresses}, ports ${services.ports}`);
    return {
      trigger: async () => {
        const { id, workflow_id } = await heddle.jobs.trigger(JOB);
        return workflow_id ?? id;
      },
      report: () => reportOf(heddle.models.all({ target: TARGET })),
      close,
    };
  } catch (error) {
    await services.close();
    throw error;
  }
}

/** `known` if an earlier start left its files. */
type Listener = Announcer & { key: string; known: boolean };

/** Receives the notifications of the workflow. After a report of changes, the network changes again. */
async function listen(directory: string, log: SurfaceOptions['log'], services: SurfaceServices): Promise<Listener> {
  const file = join(directory, STATE_FILE);
  const known = await readState(file);
  const key = known?.key ?? randomBytes(24).toString('base64url');
  const announcer = await listenForAnnouncements(known?.port ?? 0, key, (text) => {
    log.info({}, `surface: ${text}`);
    services.advance().catch((error: unknown) => log.warn({ err: error }, 'surface: could not change the services'));
  });
  await mkdir(directory, { recursive: true });
  await writeFile(file, JSON.stringify({ port: announcer.port, key } satisfies State), { mode: 0o600 });
  return { ...announcer, key, known: known !== null };
}

async function readState(file: string): Promise<State | null> {
  return readFile(file, 'utf8').then(
    (text) => JSON.parse(text) as State,
    () => null,
  );
}

/** Creates the job, or updates an existing one with the current addresses of the services and the listener. */
async function provideJob({ jobs }: Heddle, services: SurfaceServices, { port, key, known }: Listener): Promise<void> {
  const { addresses, ports, resolver } = services;
  const told = { url: `http://127.0.0.1:${port}/told`, key };
  const workflow = surfaceWorkflow({ addresses, ports, resolver, told }) as never;
  const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const create = (): Promise<unknown> => jobs.create({ name: JOB, cron: CRON, time_zone, workflow });
  const update = (): Promise<unknown> => jobs.update(JOB, { workflow });
  // The files of an earlier start only suggest what to try first; the database may be older or newer.
  if (known) await update().catch(whereStatus(404, create));
  else await create().catch(whereStatus(409, update));
}

/** Calls a fallback if a request failed with this status. */
function whereStatus(status: number, instead: () => Promise<unknown>): (error: unknown) => Promise<unknown> {
  return (error) => {
    if ((error as { status?: number }).status !== status) throw error;
    return instead();
  };
}
