import { SUBJECTS, isSubjectName } from './src/registry.ts';
import { serve } from './src/remote.ts';
import type { Environment, Subject } from './src/subject.ts';

// The process of one subject: all its measurements run here, in its own V8.
const name = process.argv[2] ?? '';
if (!isSubjectName(name)) throw new Error(`no subject is called "${name}"`);
const { createSubject } = await SUBJECTS[name].load();
const subject: Subject = createSubject();

serve(
  {
    prepare: (environment: Environment) => subject.prepare(environment),
    submit: (...args: Parameters<NonNullable<Subject['submit']>>) => subject.submit!(...args),
    submitGraphs: (...args: Parameters<NonNullable<Subject['submitGraphs']>>) => subject.submitGraphs!(...args),
    process: (...args: Parameters<NonNullable<Subject['process']>>) => subject.process!(...args),
    latency: (...args: Parameters<NonNullable<Subject['latency']>>) => subject.latency!(...args),
    receiveToStart: (...args: Parameters<NonNullable<Subject['receiveToStart']>>) => subject.receiveToStart!(...args),
    parentToChild: (...args: Parameters<NonNullable<Subject['parentToChild']>>) => subject.parentToChild!(...args),
    runTrees: (...args: Parameters<NonNullable<Subject['runTrees']>>) => subject.runTrees!(...args),
    transport: (...args: Parameters<NonNullable<Subject['transport']>>) => subject.transport!(...args),
    transportLatency: (...args: Parameters<NonNullable<Subject['transportLatency']>>) =>
      subject.transportLatency!(...args),
    listen: (...args: Parameters<NonNullable<Subject['listen']>>) => subject.listen!(...args),
    fillStore: (...args: Parameters<NonNullable<Subject['fillStore']>>) => subject.fillStore!(...args),
    scan: (...args: Parameters<NonNullable<Subject['scan']>>) => subject.scan!(...args),
    handshakes: (...args: Parameters<NonNullable<Subject['handshakes']>>) => subject.handshakes!(...args),
    scanPorts: (...args: Parameters<NonNullable<Subject['scanPorts']>>) => subject.scanPorts!(...args),
    lookups: (...args: Parameters<NonNullable<Subject['lookups']>>) => subject.lookups!(...args),
    remoteLoad: (...args: Parameters<NonNullable<Subject['remoteLoad']>>) => subject.remoteLoad!(...args),
    remoteDeadlines: (...args: Parameters<NonNullable<Subject['remoteDeadlines']>>) =>
      subject.remoteDeadlines!(...args),
    remoteMemory: (...args: Parameters<NonNullable<Subject['remoteMemory']>>) => subject.remoteMemory!(...args),
    runnerClaims: (...args: Parameters<NonNullable<Subject['runnerClaims']>>) => subject.runnerClaims!(...args),
    runnerHandOver: (...args: Parameters<NonNullable<Subject['runnerHandOver']>>) => subject.runnerHandOver!(...args),
    runnerCase: (...args: Parameters<NonNullable<Subject['runnerCase']>>) => subject.runnerCase!(...args),
    residentMib: () => Promise.resolve(process.memoryUsage.rss() / 1_048_576),
  },
  () => subject.close(),
);
