import { PgBoss } from 'pg-boss';
import type { FlowJob } from 'pg-boss';
import { chain, chunks } from '../src/graphs.ts';
import { NoOp, chainGaps, elapsedMs, submitLatencies } from '../src/no-op.ts';
import type { Environment, Graph, Subject, TransportShape } from '../src/subject.ts';
import { carry, MESSAGE } from '../src/transport.ts';

const QUEUE = 'bench';
const SET_SIZE = 5000;
const DATA = { tenant: 'a', number: 7 };

/** pg-boss with sets of 5,000. Flows are resolved at once, not by its timer of at best one second. */
class PgBossSubject implements Subject {
  readonly #noOp = new NoOp();
  #boss!: PgBoss;

  async prepare(environment: Environment): Promise<void> {
    this.#boss = new PgBoss({
      connectionString: environment.database_url!,
      max: 10,
      useListenNotify: true,
      supervise: false,
      schedule: false,
    });
    this.#boss.on('error', (error) => console.error('pg-boss:', error));
    await this.#boss.start();
    await this.#boss.createQueue(QUEUE, { notify: true });
  }

  async close(): Promise<void> {
    await this.#boss.stop({ graceful: false });
  }

  submit(count: number): Promise<number> {
    const sets = chunks(
      Array.from({ length: count }, () => ({ data: DATA })),
      SET_SIZE,
    );
    return elapsedMs(async () => {
      for (const set of sets) await this.#boss.insert(QUEUE, set);
    });
  }

  submitGraphs(graphs: readonly Graph[]): Promise<number> {
    // Many small workflows share one call: a flow is a list of jobs, connected or not.
    const jobs: FlowJob[] = graphs.flatMap((graph, index) =>
      graph.map((parents, at) => ({
        ref: `${index}.${at}`,
        name: QUEUE,
        data: DATA,
        dependsOn: parents.map((parent) => `${index}.${parent}`),
      })),
    );
    return elapsedMs(() => this.#boss.flow(jobs));
  }

  async process(count: number): Promise<number> {
    let left = count;
    return elapsedMs(async () => {
      while (left > 0) {
        const jobs = await this.#boss.fetch(QUEUE, { batchSize: SET_SIZE });
        if (jobs.length === 0) {
          await this.#boss.resolveFlow();
          continue;
        }
        for (let at = 0; at < jobs.length; at++) this.#noOp.run();
        await this.#boss.complete(QUEUE, jobs);
        left -= jobs.length;
      }
    });
  }

  transport(shape: TransportShape): Promise<number> {
    return carry(
      shape,
      (count) =>
        this.#boss.insert(
          QUEUE,
          Array.from({ length: count }, () => ({ data: { message: MESSAGE } })),
        ),
      async () => {
        const jobs = await this.#boss.fetch(QUEUE, { batchSize: shape.batch });
        if (jobs.length > 0) await this.#boss.complete(QUEUE, jobs);
        return jobs.length;
      },
    );
  }

  async latency(samples: number): Promise<number[]> {
    await this.#boss.work(QUEUE, { batchSize: 1, notifyPollingIntervalSeconds: 30 }, (jobs) => {
      for (let at = 0; at < jobs.length; at++) this.#noOp.run();
      return Promise.resolve();
    });
    const handled = this.#noOp.expect(1);
    await this.#boss.send(QUEUE, DATA);
    await handled;
    const latencies = await submitLatencies(this.#noOp, samples, () => this.#boss.send(QUEUE, DATA));
    await this.#boss.offWork(QUEUE);
    return latencies;
  }

  async parentToChild(samples: number): Promise<number[]> {
    await this.submitGraphs([chain(samples + 1)]);
    return chainGaps(this.#noOp, samples, () => this.process(samples + 1));
  }
}

export function createSubject(): Subject {
  return new PgBossSubject();
}
