import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SubjectName } from './registry.ts';
import { startRemote } from './remote.ts';
import type { Environment, Subject, SubjectMethod } from './subject.ts';
import { processCpuMs } from './usage.ts';
import type { Usage } from './usage.ts';

/** A subject in a separate process, with the same methods. */
export type SubjectClient = { [Method in SubjectMethod]: NonNullable<Subject[Method]> } & {
  name: SubjectName;
  /** Resident memory of the subject's process, MiB. */
  residentMib(): Promise<number>;
  /** What its process, and the server that it uses, have spent until now. */
  usage(): Promise<Usage>;
  end(): Promise<void>;
};

const BENCH_DIRECTORY = fileURLToPath(new URL('..', import.meta.url));

export interface SubjectProcess {
  /** The directory of another version of the bench; by default this one. */
  directory?: string;
  execArgv: readonly string[];
  /** What the server has spent until now, if the subject uses one. */
  serverUsage: () => Promise<Omit<Usage, 'client_cpu_ms'>>;
}

export async function startSubject(
  name: SubjectName,
  environment: Environment,
  { directory = BENCH_DIRECTORY, execArgv, serverUsage }: SubjectProcess,
): Promise<SubjectClient> {
  const remote = startRemote(join(directory, 'subject-process.ts'), [name], execArgv);
  try {
    await remote.call('prepare', [environment]);
  } catch (error) {
    await remote.end();
    throw error;
  }
  const forward =
    (method: SubjectMethod | 'residentMib') =>
    (...args: unknown[]): Promise<never> =>
      remote.call(method, args) as Promise<never>;
  return {
    name,
    end: () => remote.end(),
    usage: async () => ({ client_cpu_ms: processCpuMs(remote.pid), ...(await serverUsage()) }),
    submit: forward('submit'),
    submitGraphs: forward('submitGraphs'),
    process: forward('process'),
    latency: forward('latency'),
    receiveToStart: forward('receiveToStart'),
    parentToChild: forward('parentToChild'),
    runTrees: forward('runTrees'),
    transport: forward('transport'),
    transportLatency: forward('transportLatency'),
    listen: forward('listen'),
    fillStore: forward('fillStore'),
    scan: forward('scan'),
    handshakes: forward('handshakes'),
    scanPorts: forward('scanPorts'),
    lookups: forward('lookups'),
    remoteLoad: forward('remoteLoad'),
    remoteDeadlines: forward('remoteDeadlines'),
    remoteMemory: forward('remoteMemory'),
    runnerClaims: forward('runnerClaims'),
    runnerHandOver: forward('runnerHandOver'),
    runnerCase: forward('runnerCase'),
    residentMib: forward('residentMib'),
  };
}
