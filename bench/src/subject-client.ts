import { fileURLToPath } from 'node:url';
import type { SubjectName } from './registry.ts';
import { startRemote } from './remote.ts';
import type { Environment, Subject, SubjectMethod } from './subject.ts';

/** A subject in a separate process, with the same methods. */
export type SubjectClient = { [Method in SubjectMethod]: NonNullable<Subject[Method]> } & {
  name: SubjectName;
  /** Resident memory of the subject's process, MiB. */
  residentMib(): Promise<number>;
  end(): Promise<void>;
};

const MODULE = fileURLToPath(new URL('../subject-process.ts', import.meta.url));

export async function startSubject(
  name: SubjectName,
  environment: Environment,
  execArgv: readonly string[],
): Promise<SubjectClient> {
  const remote = startRemote(MODULE, [name], execArgv);
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
