import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { makeDevelopmentCertificates } from 'heddle/internal/app/remote/certs';
import type { ExecutorEvent } from 'heddle/internal/app/remote/executor-events';
import { generateKeys } from 'heddle/internal/app/remote/keys';
import { RemoteExecutor } from '@heddle/executor/internal/client/index';
import type { Protocol } from '@heddle/executor/protocol/messages';
import { eventsModule } from './events.ts';

const MAIN = join(import.meta.dirname, '../../../packages/heddle/src/cli/main.ts');
const CLIENT = 'bench';

type Ready = ExecutorEvent & { event: 'ready' };

/** Maximum waiting tasks, so that a load of many concurrent tasks is queued instead of rejected. */
const MAX_PENDING_TASKS = '1000';

/** `heddle executor` as a separate process on a new directory: mutual TLS, signed requests, a synced journal. */
export class ExecutorSite {
  readonly pid: number;
  readonly #directory: string;
  readonly #process: ChildProcess;
  readonly #listeners: Ready['listeners'];

  private constructor(directory: string, process: ChildProcess, ready: Ready) {
    this.#directory = directory;
    this.#process = process;
    this.pid = ready.pid;
    this.#listeners = ready.listeners;
  }

  static async start(tier: string, environment: Readonly<Record<string, string>> = {}): Promise<ExecutorSite> {
    const directory = mkdtempSync(join(tmpdir(), 'heddle-bench-executor-'));
    const [keys, certificates] = [join(directory, 'keys'), join(directory, 'certificates')];
    const { ring } = await generateKeys(keys, [CLIENT], 'heddle-executor');
    const { server, ca } = await makeDevelopmentCertificates(certificates, [CLIENT], ['localhost', '127.0.0.1']);
    const events = join(directory, 'events');
    mkdirSync(events);
    writeFileSync(join(events, 'events.mjs'), eventsModule());
    const binds = ['GRPC', 'XMLRPC', 'TCP', 'HTTP'].map((name) => [`HEDDLE_EXECUTOR_${name}_BIND`, '127.0.0.1:0']);
    // A profile of this process includes its executor.
    const child = spawn(process.execPath, [...process.execArgv, MAIN, 'executor', '--json'], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: {
        PATH: process.env['PATH'],
        ...(Object.fromEntries(binds) as Record<string, string>),
        HEDDLE_EXECUTOR_KEYS: ring,
        HEDDLE_EXECUTOR_TLS_CERT: server.cert,
        HEDDLE_EXECUTOR_TLS_KEY: server.key,
        HEDDLE_EXECUTOR_CLIENT_CA: ca,
        HEDDLE_EXECUTOR_DATA: join(directory, 'data'),
        HEDDLE_EXECUTOR_EVENTS_DIR: events,
        HEDDLE_EXECUTOR_ALLOWED_EVENTS: '*',
        HEDDLE_EXECUTOR_TIER: tier,
        HEDDLE_EXECUTOR_MAX_PENDING_TASKS: MAX_PENDING_TASKS,
        ...environment,
      },
    });
    const ready = await readyOf(child);
    if (ready !== null) return new ExecutorSite(directory, child, ready);
    rmSync(directory, { recursive: true });
    throw new Error(`no executor with the tier ${tier} could be started`);
  }

  /** A client with its own keys and certificate. */
  client(protocol: Protocol): RemoteExecutor {
    const certificates = join(this.#directory, 'certificates');
    return new RemoteExecutor({
      endpoints: [this.#listeners.find((listener) => listener.protocol === protocol)!.url],
      credentials: join(this.#directory, 'keys', `client-${CLIENT}.json`),
      tls: {
        caFile: join(certificates, 'ca.pem'),
        certFile: join(certificates, `client-${CLIENT}.pem`),
        keyFile: join(certificates, `client-${CLIENT}-key.pem`),
      },
    });
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const exited = once(this.#process, 'exit');
      this.#process.kill('SIGTERM');
      await exited;
    }
    rmSync(this.#directory, { recursive: true });
  }
}

/** Null if it ended before it was ready. */
async function readyOf(child: ChildProcess): Promise<Ready | null> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const event = JSON.parse(line) as ExecutorEvent;
    if (event.event !== 'ready') continue;
    child.stdout!.resume();
    return event;
  }
  return null;
}
