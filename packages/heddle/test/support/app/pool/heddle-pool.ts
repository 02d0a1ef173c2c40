/** Runs `heddle server` with `heddle worker` processes as runners, and observes them from outside. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { HeddleClient } from '@heddle/client';
import { isAlive, RunnerRecords } from '@heddle/core/pool/providers/process/records';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { DataDirectory, HeddleProcess, type Environment, type Ready } from '@heddle/test-support/app/heddle-process';

const KINDS = join(import.meta.dirname, 'processes', 'kinds.ts');
export const DEADLINE_MS = 90_000;

type RunnerDto = Awaited<ReturnType<HeddleClient['pool']['runners']>>[number];

export interface Run {
  pid: number;
  name: string;
  attempt: number;
  runners: number[];
}

export class HeddlePool {
  readonly data = new DataDirectory();
  readonly databaseUrl: string;
  client!: HeddleClient;
  server!: HeddleProcess;
  /** Of the server. */
  port = 0;
  /** Of the client. */
  token: string | undefined;
  readonly #started: HeddleProcess[] = [];

  constructor(databaseUrl: string) {
    this.databaseUrl = databaseUrl;
  }

  static async open(environment: Environment = {}): Promise<HeddlePool> {
    const pool = new HeddlePool((await createTestDatabase()).url);
    await pool.start(environment);
    return pool;
  }

  /** Starts a server, and uses it from now on. */
  async start(environment: Environment = {}, args: readonly string[] = ['server']): Promise<HeddleProcess> {
    const own = {
      WORKER_LOOP_INTERVAL_MS: '100',
      HEDDLE_POOL_HEARTBEAT_SECS: '0.5',
      HEDDLE_POOL_HEARTBEAT_MAX_AGE_SECS: '8',
      // Longer than a server takes to start on a busy machine.
      HEDDLE_POOL_HEARTBEAT_TIMEOUT_SECS: '120',
      HEDDLE_POOL_DISCONNECT_TIMEOUT_SECS: '240',
    };
    const database = args[0] === 'server' ? { DATABASE_URL: this.databaseUrl } : {};
    const server = new HeddleProcess([...args, '--json', '--module', KINDS], {
      ...this.data.environment,
      ...own,
      ...database,
      ...environment,
    });
    this.#started.push(server);
    const { url, port } = await server.event<Ready>('ready');
    this.client = new HeddleClient({ baseUrl: url, token: () => this.token });
    this.port = port;
    this.server = server;
    return server;
  }

  provision(count: number): Promise<unknown> {
    return this.client.pool.provision({ requirements: { resource_class: 'large', count } });
  }

  /** Submits a task that needs `count` runners; returns its ID. */
  async submit(
    name: string,
    kind: 'pool-quick' | 'pool-patient' | 'pool-stubborn' | 'pool-gang',
    count = 1,
    { resource_class = 'large', ...more }: { timeout?: number; resource_class?: string } = {},
  ): Promise<string> {
    const requirements = { resource_class, count };
    const metadata = { directory: this.data.path };
    const { tasks } = await this.client.submit([{ name, kind, metadata, requirements, ...more }]);
    return tasks[0]!.id;
  }

  async ended(id: string): Promise<{ status: string; attempt: number }> {
    return eventually(
      async () => {
        const { status, attempt } = await this.client.getTask(id);
        return ['Success', 'Failure', 'Canceled'].includes(status) ? { status, attempt } : undefined;
      },
      `the task ${id} has ended; the server says:\n${this.server.stderr.slice(-2_000)}`,
      DEADLINE_MS,
    );
  }

  /** Lets the patient task of this name end. */
  letGo(name: string): void {
    writeFileSync(join(this.data.path, `go-${name}`), '');
  }

  /** The tasks that ran so far. */
  get runs(): Run[] {
    const path = join(this.data.path, 'runs.jsonl');
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Run);
  }

  run(name: string, attempt = 1): Promise<Run> {
    const found = (): Run | undefined => this.runs.find((run) => run.name === name && run.attempt === attempt);
    return eventually(found, `attempt ${attempt} of ${name} runs`, DEADLINE_MS);
  }

  /** Waits until there are as many runners in this state, and returns them. */
  runners(state: RunnerDto['state'], count: number): Promise<RunnerDto[]> {
    return eventually(
      async () => {
        const runners = await this.client.pool.runners({ state });
        return runners.length === count ? runners : undefined;
      },
      `${count} runners are ${state}; the server says:\n${this.server.stderr.slice(-2_000)}`,
      DEADLINE_MS,
    );
  }

  /** PIDs of live runners. */
  get processes(): number[] {
    const records = this.#records;
    return records.ids().flatMap((id) => {
      const mark = records.processOf(id);
      return mark !== null && isAlive(mark) ? [mark.pid] : [];
    });
  }

  processOf(runnerId: string): number {
    return this.#records.processOf(runnerId)!.pid;
  }

  get #records(): RunnerRecords {
    const [machine] = existsSync(join(this.data.path, 'runners'))
      ? readdirSync(join(this.data.path, 'runners'))
      : ['none'];
    return new RunnerRecords(join(this.data.path, 'runners', machine!));
  }

  async noProcesses(): Promise<void> {
    await eventually(() => this.processes.length === 0, 'no runner is left', DEADLINE_MS);
  }

  async close(): Promise<void> {
    for (const each of this.#started) if (!each.ended) each.child.kill('SIGKILL');
    await Promise.all(this.#started.map(({ exited }) => exited));
    await this.data.dispose();
  }
}
