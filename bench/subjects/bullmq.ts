import { FlowProducer, Queue, Worker } from 'bullmq';
import type { Connection, FlowJob } from 'bullmq';
import { asTree, chain, chunks } from '../src/graphs.ts';
import { NoOp, chainGaps, elapsedMs, submitLatencies } from '../src/no-op.ts';
import type { Environment, Graph, Subject, TransportShape } from '../src/subject.ts';
import { carry, MESSAGE } from '../src/transport.ts';

const QUEUE = 'bench';
const SUBMIT_SIZE = 2000;
const CONCURRENCY = 100;
const DATA = { tenant: 'a', number: 7 };
const OPTIONS = { removeOnComplete: true };

/** BullMQ on Redis. A job has at most one dependent, so a workflow is stored as the tree within it. */
class BullmqSubject implements Subject {
  readonly #noOp = new NoOp();
  #connection!: Connection;
  #queue!: Queue;
  #flows!: FlowProducer;

  async prepare(environment: Environment): Promise<void> {
    this.#connection = { host: '127.0.0.1', port: environment.redis_port!, maxRetriesPerRequest: null };
    this.#queue = new Queue(QUEUE, { connection: this.#connection });
    this.#flows = new FlowProducer({ connection: this.#connection });
    await this.#queue.add('warm', DATA, OPTIONS);
    await this.process(1);
  }

  async close(): Promise<void> {
    await this.#flows.close();
    await this.#queue.close();
  }

  submit(count: number): Promise<number> {
    const sets = chunks(
      Array.from({ length: count }, () => ({ name: 'bench', data: DATA, opts: OPTIONS })),
      SUBMIT_SIZE,
    );
    return elapsedMs(async () => {
      for (const set of sets) await this.#queue.addBulk(set);
    });
  }

  submitGraphs(graphs: readonly Graph[]): Promise<number> {
    const flows = graphs.map((graph): FlowJob => {
      const nodes = graph.map((): FlowJob => ({ name: 'bench', queueName: QUEUE, data: DATA, opts: OPTIONS }));
      asTree(graph).forEach((parents, at) => {
        if (parents.length > 0) nodes[at]!.children = parents.map((parent) => nodes[parent]!);
      });
      return nodes.at(-1)!;
    });
    return elapsedMs(() => this.#flows.addBulk(flows));
  }

  async #start(onCompleted: () => void): Promise<Worker> {
    const handler = (): Promise<void> => {
      this.#noOp.run();
      return Promise.resolve();
    };
    const worker = new Worker(QUEUE, handler, {
      connection: this.#connection,
      concurrency: CONCURRENCY,
      autorun: false,
    });
    worker.on('completed', onCompleted);
    worker.on('error', (error) => console.error('bullmq:', error));
    await worker.waitUntilReady();
    return worker;
  }

  async process(count: number): Promise<number> {
    const all = Promise.withResolvers<undefined>();
    let left = count;
    const worker = await this.#start(() => {
      left -= 1;
      if (left === 0) all.resolve(undefined);
    });
    const elapsed = await elapsedMs(async () => {
      void worker.run();
      await all.promise;
    });
    await worker.close();
    return elapsed;
  }

  async transport(shape: TransportShape): Promise<number> {
    let settled = 0;
    const worker = await this.#start(() => (settled += 1));
    void worker.run();
    const elapsed = await carry(
      shape,
      (count) =>
        this.#queue.addBulk(
          Array.from({ length: count }, () => ({ name: 'bench', data: { message: MESSAGE }, opts: OPTIONS })),
        ),
      async () => {
        // Its worker receives and settles by itself, one message at a time, a hundred at once.
        await new Promise((resolve) => setImmediate(resolve));
        return [settled, (settled = 0)][0]!;
      },
    );
    await worker.close();
    return elapsed;
  }

  async latency(samples: number): Promise<number[]> {
    const worker = await this.#start(() => undefined);
    void worker.run();
    const latencies = await submitLatencies(this.#noOp, samples, () => this.#queue.add('bench', DATA, OPTIONS));
    await worker.close();
    return latencies;
  }

  async parentToChild(samples: number): Promise<number[]> {
    await this.submitGraphs([chain(samples + 1)]);
    return chainGaps(this.#noOp, samples, () => this.process(samples + 1));
  }
}

export function createSubject(): Subject {
  return new BullmqSubject();
}
