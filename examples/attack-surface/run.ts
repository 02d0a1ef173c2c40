/**
 * Puts the example to work: its services, a job that looks at them every night, and a first run at once. `heddle up` calls
 * it at each start, so that the job finds its services.
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

/** What the example asks of Heddle: a client of its HTTP API offers it. */
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
  /** Where certificates, ports and the key of the notifications are kept. */
  directory: string;
}

export interface Surface {
  /** Runs the job now; resolves with its workflow. */
  trigger(): Promise<string>;
  /** What is known of the network by now, as people read it. */
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

/** `known` where an earlier start left its files. */
type Listener = Announcer & { key: string; known: boolean };

/** Takes the notifications of the workflow. Whoever was told of changes will find others the next time. */
async function listen(directory: string, log: SurfaceOptions['log'], services: SurfaceServices): Promise<Listener> {
  const file = join(directory, STATE_FILE);
  const known = await readState(file);
  const key = known?.key ?? randomBytes(24).toString('base64url');
  const announcer = await listenForAnnouncements(known?.port ?? 0, key, (text) => {
    log.info({}, `surface: ${text}`);
    services.advance().catch((error: unknown) => log.warn({ err: error }, 'surface: the services stay as they are'));
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

/** Creates the job, or tells the one of an earlier start where the services and the listener are now. */
async function provideJob({ jobs }: Heddle, services: SurfaceServices, { port, key, known }: Listener): Promise<void> {
  const { addresses, ports, resolver } = services;
  const told = { url: `http://127.0.0.1:${port}/told`, key };
  const workflow = surfaceWorkflow({ addresses, ports, resolver, told }) as never;
  const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const create = (): Promise<unknown> => jobs.create({ name: JOB, cron: CRON, time_zone, workflow });
  const update = (): Promise<unknown> => jobs.update(JOB, { workflow });
  // The files of an earlier start tell what to try first; the database may be older or newer than they are.
  if (known) await update().catch(whereStatus(404, create));
  else await create().catch(whereStatus(409, update));
}

/** Does something else where a request was answered with this status. */
function whereStatus(status: number, instead: () => Promise<unknown>): (error: unknown) => Promise<unknown> {
  return (error) => {
    if ((error as { status?: number }).status !== status) throw error;
    return instead();
  };
}
