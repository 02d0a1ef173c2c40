// The parts of the libraries that the subjects use, so that the project type-checks without the benchmarks'
// dependencies.

declare module 'graphile-worker' {
  import type { EventEmitter } from 'node:events';

  export interface Runner {
    stop(): Promise<void>;
    promise: Promise<void>;
  }
  export interface AddJobsJobSpec {
    identifier: string;
    payload: object;
  }
  export interface WorkerUtils {
    addJob(identifier: string, payload: object): Promise<unknown>;
    addJobs(specs: readonly AddJobsJobSpec[]): Promise<unknown>;
    migrate(): Promise<void>;
    release(): Promise<void>;
  }
  export interface WorkerPreset {
    worker: {
      connectionString: string;
      maxPoolSize: number;
      concurrentJobs: number;
      pollInterval: number;
      localQueue: { size: number };
      completeJobBatchDelay: number;
      failJobBatchDelay: number;
      logger: Logger;
      events: EventEmitter;
    };
  }
  export class Logger {
    constructor(factory: () => () => void);
    info(message: string): void;
  }
  export function makeWorkerUtils(options: { connectionString: string; logger: Logger }): Promise<WorkerUtils>;
  export function run(options: {
    preset: WorkerPreset;
    taskList: Record<string, () => void>;
    parsedCronItems: [];
    noHandleSignals: boolean;
  }): Promise<Runner>;
}

declare module 'pg-boss' {
  export interface Job {
    id: string;
    retryCount: number;
  }
  export interface FlowJob {
    ref: string;
    name: string;
    data?: object;
    dependsOn?: string[];
  }
  export class PgBoss {
    constructor(options: {
      connectionString: string;
      max: number;
      useListenNotify: boolean;
      supervise: boolean;
      schedule: boolean;
    });
    on(event: 'error', listener: (error: Error) => void): void;
    start(): Promise<this>;
    stop(options: { graceful: boolean }): Promise<void>;
    createQueue(name: string, options: { notify: boolean }): Promise<void>;
    send(name: string, data: object): Promise<string | null>;
    insert(name: string, jobs: { data: object }[]): Promise<string[] | null>;
    flow(jobs: FlowJob[]): Promise<Record<string, string>>;
    resolveFlow(): Promise<void>;
    fetch(name: string, options: { batchSize: number }): Promise<Job[]>;
    complete(name: string, jobs: Job[]): Promise<unknown>;
    work(name: string, options: object, handler: (jobs: Job[]) => Promise<void>): Promise<string>;
    offWork(name: string): Promise<void>;
  }
}

declare module 'bullmq' {
  export interface Connection {
    host: string;
    port: number;
    maxRetriesPerRequest: null;
  }
  export interface JobsOptions {
    removeOnComplete: boolean;
  }
  export interface FlowJob {
    name: string;
    queueName: string;
    data: object;
    opts: JobsOptions;
    children?: FlowJob[];
  }
  export class Queue {
    constructor(name: string, options: { connection: Connection });
    add(name: string, data: object, options: JobsOptions): Promise<unknown>;
    addBulk(jobs: { name: string; data: object; opts: JobsOptions }[]): Promise<unknown>;
    close(): Promise<void>;
  }
  export class FlowProducer {
    constructor(options: { connection: Connection });
    addBulk(flows: FlowJob[]): Promise<unknown>;
    close(): Promise<void>;
  }
  export class Worker {
    constructor(
      name: string,
      handler: () => Promise<void>,
      options: { connection: Connection; concurrency: number; autorun: boolean },
    );
    on(event: 'completed', listener: () => void): void;
    on(event: 'error', listener: (error: Error) => void): void;
    waitUntilReady(): Promise<unknown>;
    run(): Promise<void>;
    close(): Promise<void>;
  }
}

declare module '@secretlint/core' {
  export function lintSource(request: {
    source: { filePath: string; content: string; ext: string; contentType: 'text' };
    options: { config: { rules: readonly { id: string; rule: unknown; options: object }[] } };
  }): Promise<{ messages: readonly { ruleId: string; loc: { start: { line: number } } }[] }>;
}

declare module '@secretlint/secretlint-rule-preset-recommend' {
  export const creator: unknown;
}
