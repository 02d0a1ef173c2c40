/**
 * What stands around the manager: a sender of workflows and the workers of their kinds. Everything that they say is said
 * twice, out of order and late.
 */
import type { JsonObject } from '@heddle/base/json';
import { MANAGER_QUEUE, workerQueueOf, type StartTaskMessage } from '@heddle/core/domain/message';
import { createJobs } from '@heddle/core/engine/schedule/jobs';
import type { MessageQueue, OutgoingMessage } from '@heddle/core/queue/port';
import { newId, seededRandom, type Random } from '@heddle/base/random';
import type { Statement } from '@heddle/core/store/database';
import type { Bench } from '@heddle/test-support/engine/manager/fixture';

/** What the test itself works with, beside the managers. */
export type Outside = Pick<Bench, 'database' | 'queue' | 'jobs'>;

const MAKE_DUE: Statement = {
  name: 'test.make_due',
  text: `update recon.jobs set next_run_at = now() - interval '1 second' where name = $1`,
};

/** The target of the announcements of ended workflows; nothing is sent there. */
const TOLD_AT = 'https://told.example.com/';
export const CHILDREN = 4;
export const UNITS = 5;
/** Longest that a message is under way, ms. */
const LATE_MS = 25;

/** The workflows of one run of a test; kinds are its own, so that many runs may share a database. */
export class ManagerWorld {
  readonly run: string;
  readonly workflows: readonly string[];
  /** `task/attempt` of every StartTask that arrived, with how often. */
  readonly starts = new Map<string, number>();
  /** Ids of the nodes that each generator makes: the same at every attempt. */
  readonly #made = new Map<string, string[]>();
  /** Ends of tasks whose counts are on their way. */
  readonly #held: JsonObject[] = [];
  readonly #random: Random;

  constructor(run: string, seed: number, workflows = 1) {
    this.run = run;
    this.workflows = Array.from({ length: workflows }, () => newId());
    this.#random = seededRandom(seed);
  }

  get kinds(): string[] {
    return ['gen', 'made', 'flaky', 'count', 'choose', 'never', 'last'].map((name) => this.kind(name));
  }

  kind(name: string): string {
    return `${name}-${this.run}`;
  }

  /** What sets everything in motion; one job is due, once. */
  async begin({ database, queue, jobs }: Outside): Promise<void> {
    await createJobs(jobs).create({
      name: this.run,
      cron: '0 0 1 1 *',
      time_zone: 'UTC',
      recurrence: 1,
      overlap: 'skip',
      catch_up: 'once',
      paused: false,
      workflow: { root: { mode: 'parallel', children: [{ kind: this.kind('last') }] } },
    });
    await database.query(MAKE_DUE, [this.run]);
    const seen = { type: 'WorkerSeen', worker: this.run, kinds: this.kinds, concurrency: 1_000 };
    await this.#say(queue, [seen, ...this.workflows.map((id) => this.#workflow(id))]);
    await queue.send(MANAGER_QUEUE, [{ body: `{"run":"${this.run}"` }]);
  }

  #workflow(id: string): JsonObject {
    const task = (name: string, extra: JsonObject = {}): JsonObject => ({ kind: this.kind(name), id: name, ...extra });
    const root = {
      id,
      mode: 'sequential',
      children: [
        {
          mode: 'parallel',
          children: [task('gen', { generator: true }), { id: 'fan', mode: 'parallel', children: [] }],
        },
        { mode: 'parallel', children: [task('flaky', { retry: { max_attempts: 9, backoff_secs: 0 } }), task('count')] },
        // Its input is worked out; what it says disables the branch that is named there.
        task('choose', { input: { skip: { $expr: 'nodes.count.state == "Succeeded" ? "branch" : "last"' } } }),
        { id: 'branch', mode: 'parallel', children: [task('never')] },
        task('last', { input: { by: { $expr: 'nodes.choose.result.by' } } }),
      ],
    };
    const notify = [{ on: ['Succeeded'], to: { webhook: { url: TOLD_AT } }, text: '{{ nodes.last.result.by }}' }];
    return { type: 'CreateTaskCollection', collection: { name: this.run, root, notify } };
  }

  /** Takes what waits for the workers and answers it; returns how many tasks that were. */
  async work(queue: MessageQueue): Promise<number> {
    let worked = 0;
    for (const kind of this.kinds) {
      const name = workerQueueOf(kind);
      const messages = await queue.receive(name, { max: 100, wait_ms: 0, visibility_ms: 60_000 });
      if (messages.length === 0) continue;
      const answers = messages.flatMap(({ body }) => this.#answer(JSON.parse(body) as StartTaskMessage));
      await this.#say(queue, answers);
      await queue.delete(
        name,
        messages.map(({ receipt }) => receipt),
      );
      worked += messages.length;
    }
    return worked + (await this.#letGo(queue));
  }

  /** Waiting ends are reported when every count before them, and its repetition, has been handled. */
  async #letGo(queue: MessageQueue): Promise<number> {
    if (this.#held.length === 0 || !(await isEmpty(queue))) return 0;
    const ends = this.#held.splice(0);
    await this.#say(queue, ends);
    return ends.length;
  }

  #answer({ root_container_id, task }: StartTaskMessage): JsonObject[] {
    const { id, attempt, kind } = task;
    const key = `${id}/${attempt}`;
    this.starts.set(key, (this.starts.get(key) ?? 0) + 1);
    const beat = { type: 'HeartbeatTask', task_id: id, attempt };
    const end = { type: 'CompleteTask', task_id: id, attempt, root_container_id, state: 'Succeeded' };
    switch (kind.slice(0, kind.indexOf('-'))) {
      case 'gen':
        return [...this.#children(id), { ...end, expected_task_count: CHILDREN }];
      case 'flaky':
        // It does not say which attempt it speaks of: only the inbox keeps it from ending the next one.
        if (attempt === 1) {
          return [{ type: 'CompleteTask', task_id: id, root_container_id: null, state: 'Failed', reason: 'for now' }];
        }
        return [beat, end];
      case 'count':
        this.#held.push(end);
        return [
          { ...beat, new_success: 2 },
          { ...beat, new_success: UNITS - 2 },
        ];
      case 'choose':
        return [beat, { ...end, data: { by: attempt }, disable: [task.input['skip']!] }];
      case 'last':
        return [beat, { ...end, data: { by: task.input['by']! } }];
      default:
        return [beat, { ...end, data: { by: attempt } }];
    }
  }

  #children(generator: string): JsonObject[] {
    const ids = this.#made.get(generator) ?? Array.from({ length: CHILDREN }, () => newId());
    this.#made.set(generator, ids);
    return ids.map((id) => ({
      type: 'CreateTask',
      task: { id, kind: this.kind('made') },
      generator_id: generator,
      parent_id: 'fan',
    }));
  }

  /** Each message twice, under one name, in random order and with random delays. */
  async #say(queue: MessageQueue, bodies: readonly JsonObject[]): Promise<void> {
    const messages = bodies.flatMap((body) => {
      const text = JSON.stringify({ ...body, message_id: newId() });
      const send = (): OutgoingMessage => ({ body: text, delay_ms: Math.floor(this.#random.next() * LATE_MS) });
      return [send(), send()];
    });
    const shuffled = messages.map((message) => ({ message, at: this.#random.next() })).sort((a, b) => a.at - b.at);
    await queue.send(
      MANAGER_QUEUE,
      shuffled.map(({ message }) => message),
    );
  }
}

/** Whether the manager has nothing to read, now or later. */
export async function isEmpty(queue: MessageQueue): Promise<boolean> {
  const { visible, in_flight, delayed } = await queue.depth(MANAGER_QUEUE);
  return visible + in_flight + delayed === 0;
}
