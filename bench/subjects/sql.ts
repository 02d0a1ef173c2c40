import pg from 'pg';
import { chain, chunks } from '../src/graphs.ts';
import { NoOp, Wakeups, chainGaps, elapsedMs, submitLatencies } from '../src/no-op.ts';
import type { Environment, Graph, Subject } from '../src/subject.ts';

const SET_SIZE = 2000;
const SUBMIT_SIZE = 5000;
const CONNECTIONS = 2;
const METADATA = { tenant: 'a', number: 7 };

// One round trip finishes a set, opens its children's gates and leases the next set.
const SCHEMA = `
  create table task (
    id bigint primary key, state smallint not null default 0, gates integer not null, attempt integer not null default 0,
    kind text not null, metadata jsonb not null, created_at timestamptz not null default now(), ended_at timestamptz
  ) with (fillfactor = 50);
  create table ready (id bigint primary key);
  create table edge (parent bigint not null, child bigint not null, primary key (parent, child));
  create table lease (id bigint generated always as identity primary key, tasks bigint[] not null);

  create function step(last_lease bigint, wanted integer, out lease_id bigint, out tasks bigint[]) language plpgsql as $$
  declare
    done bigint[];
    children bigint[];
  begin
    if last_lease is not null then
      delete from lease where id = last_lease returning lease.tasks into done;
      update task set state = 2, attempt = 1, ended_at = now() where id = any(done);
      select array_agg(distinct child) into children from edge where parent = any(done);
      if children is not null then
        perform 1 from task where id = any(children) order by id for update;
        with met as (
          select child, count(*)::integer as gates from edge where parent = any(done) group by child
        ), opened as (
          update task set gates = task.gates - met.gates from met where task.id = met.child returning task.id, task.gates
        )
        insert into ready select id from opened where gates = 0;
      end if;
    end if;
    with taken as (
      delete from ready where ctid = any(array(select ctid from ready order by id limit wanted for update skip locked))
      returning id
    )
    select array_agg(id order by id) into tasks from taken;
    if tasks is not null then
      insert into lease (tasks) values (step.tasks) returning id into lease_id;
    end if;
  end $$;
`;

const STEP = { name: 'step', text: 'select lease_id, tasks from step($1, $2)' };
const SUBMIT = {
  name: 'submit',
  text: `with stored as (
      insert into task (id, gates, kind, metadata)
      select id, gates, 'bench', $3 from unnest($1::bigint[], $2::integer[]) as input (id, gates)
      returning id, gates
    ), opened as (insert into ready select id from stored where gates = 0)
    select pg_notify('ready', '')`,
};
const LINK = { name: 'link', text: 'insert into edge select * from unnest($1::bigint[], $2::bigint[])' };

interface StepRow {
  lease_id: string | null;
  tasks: string[] | null;
}

class SqlSubject implements Subject {
  readonly #noOp = new NoOp();
  #pool!: pg.Pool;
  #listener!: pg.Client;
  #nextId = 1;
  readonly #wakeups = new Wakeups();

  async prepare(environment: Environment): Promise<void> {
    const options = { connectionString: environment.database_url!, options: '-c jit=off' };
    this.#pool = new pg.Pool({ ...options, max: CONNECTIONS + 1 });
    this.#listener = new pg.Client(options);
    await this.#pool.query(SCHEMA);
    await this.#listener.connect();
    this.#listener.on('notification', () => this.#wakeups.wake());
    await this.#listener.query('listen ready');
  }

  async close(): Promise<void> {
    await this.#listener.end();
    await this.#pool.end();
  }

  async #store(gates: readonly number[]): Promise<void> {
    const ids = gates.map(() => this.#nextId++);
    await this.#pool.query({ ...SUBMIT, values: [ids, gates, METADATA] });
  }

  submit(count: number): Promise<number> {
    const sets = chunks(new Array<number>(count).fill(0), SUBMIT_SIZE);
    return elapsedMs(async () => {
      for (const set of sets) await this.#store(set);
    });
  }

  submitGraphs(graphs: readonly Graph[]): Promise<number> {
    return elapsedMs(async () => {
      const parents: number[] = [];
      const children: number[] = [];
      const gates: number[] = [];
      for (const graph of graphs) {
        const base = this.#nextId + gates.length;
        graph.forEach((wanted, at) => {
          gates.push(wanted.length);
          for (const parent of wanted) {
            parents.push(base + parent);
            children.push(base + at);
          }
        });
      }
      const client = await this.#pool.connect();
      try {
        await client.query('begin');
        await client.query({ ...LINK, values: [parents, children] });
        const ids = gates.map(() => this.#nextId++);
        await client.query({ ...SUBMIT, values: [ids, gates, METADATA] });
        await client.query('commit');
      } finally {
        client.release();
      }
    });
  }

  /** Leases and finishes sets until everything is done; waits if there is nothing to lease. */
  async #work(isOver: () => boolean): Promise<void> {
    let lease: string | null = null;
    for (;;) {
      const woken = this.#wakeups.next();
      const { rows }: { rows: StepRow[] } = await this.#pool.query<StepRow>({ ...STEP, values: [lease, SET_SIZE] });
      lease = rows[0]!.lease_id;
      const tasks = rows[0]!.tasks?.length ?? 0;
      if (tasks === SET_SIZE) this.#wakeups.wake();
      for (let at = 0; at < tasks; at++) this.#noOp.run();
      if (lease !== null) continue;
      if (isOver()) return;
      await woken;
    }
  }

  async #runWhile(workers: number, work: () => Promise<unknown>): Promise<void> {
    let over = false;
    const running = Array.from({ length: workers }, () => this.#work(() => over));
    await work();
    over = true;
    this.#wakeups.wake();
    await Promise.all(running);
  }

  process(count: number): Promise<number> {
    const handled = this.#noOp.expect(count);
    return elapsedMs(() => this.#runWhile(CONNECTIONS, () => handled));
  }

  async latency(samples: number): Promise<number[]> {
    let latencies: number[] = [];
    await this.#runWhile(1, async () => {
      latencies = await submitLatencies(this.#noOp, samples, () => this.#store([0]));
    });
    return latencies;
  }

  async parentToChild(samples: number): Promise<number[]> {
    await this.submitGraphs([chain(samples + 1)]);
    let gaps: number[] = [];
    await this.#runWhile(1, async () => {
      gaps = await chainGaps(this.#noOp, samples, () => Promise.resolve());
    });
    return gaps;
  }
}

export function createSubject(): Subject {
  return new SqlSubject();
}
