import type { Subject } from './subject.ts';

export interface SubjectEntry {
  needs: 'postgres' | 'redis' | 'nothing';
  /** A program of the machine, not of a package: without it the subject does not run. */
  command?: string;
  /** Its configuration and the durability of a finished task; printed with the results. */
  note: string;
  load(): Promise<{ createSubject(): Subject }>;
}

/**
 * Every subject, by its name in the results. To add one: a file in `subjects/`, a line here, its name in a scenario.
 */
export const SUBJECTS = {
  heddle: {
    needs: 'postgres',
    note: 'engine and handlers in one process; every transition committed with fsync',
    load: () => import('../subjects/heddle.ts'),
  },
  'heddle-manager': {
    needs: 'postgres',
    note: 'the manager loop on the queue in PostgreSQL; every step committed with fsync',
    load: () => import('../subjects/heddle-manager.ts'),
  },
  'graphile-worker': {
    needs: 'postgres',
    note: 'localQueue 2000, completeJobBatchDelay 5, 24 concurrent jobs; committed with fsync; finished jobs are deleted',
    load: () => import('../subjects/graphile-worker.ts'),
  },
  'pg-boss': {
    needs: 'postgres',
    note: 'fetch and complete in sets of 5,000; flows resolved by resolveFlow() after every set; committed with fsync',
    load: () => import('../subjects/pg-boss.ts'),
  },
  bullmq: {
    needs: 'redis',
    note: 'Redis with appendonly yes, appendfsync everysec: a crash of the machine may lose the last second',
    load: () => import('../subjects/bullmq.ts'),
  },
  sql: {
    needs: 'postgres',
    note: 'hand-written set-based loop without validation, rules, retries or webhooks: the limit, not a product',
    load: () => import('../subjects/sql.ts'),
  },
  naive: {
    needs: 'postgres',
    note: 'fastify and pg, one statement and one commit for each request',
    load: () => import('../subjects/naive.ts'),
  },
  ceiling: {
    needs: 'nothing',
    note: 'the limit: node:http that reads each request and answers the same, without a database',
    load: () => import('../subjects/ceiling.ts'),
  },
  'heddle-scan': {
    needs: 'nothing',
    note: '`heddle scan --json`, a separate process, start-up included',
    load: () => import('../subjects/scan-heddle.ts'),
  },
  secretlint: {
    needs: 'nothing',
    note: 'its recommended preset, start-up included',
    load: () => import('../subjects/scan-secretlint.ts'),
  },
  ripgrep: {
    needs: 'nothing',
    command: 'rg',
    note: 'the limit: the same patterns, or the keywords of the same rules; it reads no archives and judges nothing',
    load: () => import('../subjects/scan-ripgrep.ts'),
  },
  gitleaks: {
    needs: 'nothing',
    command: 'gitleaks',
    note: '`gitleaks git` with the same rules, start-up included',
    load: () => import('../subjects/scan-gitleaks.ts'),
  },
  'heddle-tls': {
    needs: 'nothing',
    note: 'TLS probes, 64 at once; the handshake is read as far as it is wanted, and never ended',
    load: () => import('../subjects/recon-tls-heddle.ts'),
  },
  'openssl-s-time': {
    needs: 'nothing',
    command: 'openssl',
    note: '`openssl s_time -new`: whole handshakes, one after the other',
    load: () => import('../subjects/recon-tls-openssl.ts'),
  },
  'node-tls': {
    needs: 'nothing',
    note: '`tls.connect`, 64 at once: whole handshakes',
    load: () => import('../subjects/recon-tls-node.ts'),
  },
  'heddle-tcp': {
    needs: 'nothing',
    note: 'port scans without a limit of rate, 3 retries, from the call to the last record; no start of a process in it',
    load: () => import('../subjects/recon-tcp-heddle.ts'),
  },
  nmap: {
    needs: 'nothing',
    command: 'nmap',
    note: '-T4, start-up included (0.1 s); --min-rate is left out, with which it loses packets and takes longer',
    load: () => import('../subjects/recon-tcp-nmap.ts'),
  },
  'heddle-dns': {
    needs: 'nothing',
    note: 'DNS scans without a limit of rate, from the call to the last record; no start of a process in it',
    load: () => import('../subjects/recon-dns-heddle.ts'),
  },
  dnsperf: {
    needs: 'nothing',
    command: 'dnsperf',
    note: '-c 4 -q 128: the limit, since it keeps no answers; start-up included',
    load: () => import('../subjects/recon-dns-dnsperf.ts'),
  },
  'node-dns': {
    needs: 'nothing',
    note: "node:dns' Resolver (c-ares), 128 at once",
    load: () => import('../subjects/recon-dns-node.ts'),
  },
  'heddle-executor': {
    needs: 'nothing',
    note: '`heddle executor`, its client and TCP with mutual TLS; requests and answers are signed, tasks journaled with fdatasync',
    load: () => import('../subjects/remote-heddle.ts'),
  },
  'heddle-jail': {
    needs: 'nothing',
    command: 'bwrap',
    note: 'the same with the tier jail: a fresh process in namespaces of its own for every task, started ahead',
    load: () => import('../subjects/remote-heddle.ts'),
  },
  'pre-forked': {
    needs: 'nothing',
    note: 'two forked workers with Node IPC, four tasks prefetched by each, the same TCP frames: no TLS, signatures, journal or sandbox',
    load: () => import('../subjects/remote-pre-forked.ts'),
  },
  'fresh-node': {
    needs: 'nothing',
    note: '`node` started for every task, two at once, behind the same listener as pre-forked',
    load: () => import('../subjects/remote-fresh-node.ts'),
  },
  'pool-postgres': {
    needs: 'postgres',
    note: 'the runner pool: requests, runners and the index of idle ones in PostgreSQL; every claim committed with fsync',
    load: () => import('../subjects/pool-postgres.ts'),
  },
  'pool-sqs-classic': {
    needs: 'postgres',
    note: 'the same store; idle runners in one queue a class, on an SQS server of the same process',
    load: () => import('../subjects/pool-sqs.ts'),
  },
  'pool-sqs-sharded': {
    needs: 'postgres',
    note: 'the same store; idle runners in a queue a type, on an SQS server of the same process',
    load: () => import('../subjects/pool-sqs.ts'),
  },
} as const satisfies Record<string, SubjectEntry>;

export type SubjectName = keyof typeof SUBJECTS;

export function isSubjectName(name: string): name is SubjectName {
  return Object.hasOwn(SUBJECTS, name);
}
