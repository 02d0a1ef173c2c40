import { fork, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';

/** Runs a task somewhere: the request's JSON in, the result's JSON out. */
export interface TaskPool {
  run(request: string): Promise<string>;
}

/** Messages to and from a forked worker. */
export interface WorkerMessage {
  id: number;
  json: string;
}

const CONCURRENCY = 2;
const PREFETCHED = 4;

interface Worker {
  process: ChildProcess;
  waiting: Map<number, (json: string) => void>;
}

/** Workers that are forked at the start and run task after task; each prefetches a few. */
export class PreForkedPool implements TaskPool {
  readonly #workers: readonly Worker[];
  readonly #queue: { message: WorkerMessage; settle: (json: string) => void }[] = [];
  #nextId = 0;

  constructor() {
    this.#workers = Array.from({ length: CONCURRENCY }, () => this.#fork());
  }

  #fork(): Worker {
    const child = fork(join(import.meta.dirname, 'peer-worker.ts'));
    const worker: Worker = { process: child, waiting: new Map() };
    child.on('message', ({ id, json }: WorkerMessage) => {
      const settle = worker.waiting.get(id)!;
      worker.waiting.delete(id);
      this.#hand();
      settle(json);
    });
    return worker;
  }

  run(request: string): Promise<string> {
    return new Promise((settle) => {
      this.#queue.push({ message: { id: (this.#nextId += 1), json: request }, settle });
      this.#hand();
    });
  }

  #hand(): void {
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      const worker = this.#workers.reduce((a, b) => (b.waiting.size < a.waiting.size ? b : a));
      if (worker.waiting.size >= PREFETCHED) return;
      this.#queue.shift();
      worker.waiting.set(next.message.id, next.settle);
      worker.process.send(next.message);
    }
  }
}

/** A new Node process for every task, limited in number. */
export class FreshNodePool implements TaskPool {
  readonly #queue: (() => void)[] = [];
  #running = 0;

  async run(request: string): Promise<string> {
    if (this.#running >= CONCURRENCY) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#running += 1;
    try {
      return await runFresh(request);
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}

/**
 * A task: its request on standard input, its result on standard output. Plain JavaScript, because stripping types takes
 * as long as starting.
 */
const FRESH_TASK = `
  import { readFileSync } from 'node:fs';
  const events = { NoOp: () => null };
  const { event_name, args } = JSON.parse(readFileSync(0, 'utf8'));
  process.stdout.write(JSON.stringify({ status: 'success', result: await events[event_name](args) }));
`;

function runFresh(request: string): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', FRESH_TASK], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve(output) : reject(new Error(`the task ended with ${code}`))));
    child.stdin.end(request);
  });
}
