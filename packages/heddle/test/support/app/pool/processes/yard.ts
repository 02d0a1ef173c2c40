/** Servers and runners on one machine with one database, to be killed at will, and the final invariants. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { isAlive, RunnerRecords } from '@heddle/core/pool/providers/process/records';
import { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import type { Statement } from '@heddle/core/store/database';
import { startChild, type Child } from '@heddle/test-support/reliability/processes';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';
import { POLICY, type YardPoint } from './yard-settings.ts';

const SCRIPT = join(import.meta.dirname, 'yard-server.ts');
const GONE_MS = 60_000;

interface Note {
  event: 'started' | 'revoked' | 'ended';
  runner: string;
  pid: number;
  epoch?: number;
  request?: string;
}

const HELD: Statement = {
  name: 'test.held',
  text: `select q.id, q.count, q.state, array_agg(r.number) runners from runner r join runner_request q on q.id = r.request_id
    where r.state in (2, 3) group by q.id
    having count(*) > q.count or (q.state <> 1 and not (q.state = 0 and q.kept = count(*)))`,
};
const STATES: Statement = {
  name: 'test.states',
  text: `select (select count(*) from runner where state < 4) live, (select count(*) from runner_request where state < 2) open`,
};

export class Yard {
  readonly database: TestDatabase;
  readonly store: PostgresRunnerStore;
  readonly directory: string;
  readonly #home = mkdtempSync(join(tmpdir(), 'heddle-yard-'));
  readonly #servers = new Set<Child>();

  private constructor(database: TestDatabase) {
    const { classes, times, max_uses } = POLICY;
    this.database = database;
    this.store = new PostgresRunnerStore({ database: database.database, classes, times, max_uses });
    this.directory = join(this.#home, 'runners');
    mkdirSync(this.directory);
    mkdirSync(this.#journal);
  }

  static async open(): Promise<Yard> {
    return new Yard(await createTestDatabase());
  }

  get #journal(): string {
    return join(this.#home, 'journal');
  }

  start({ point = null, plays = false }: { point?: YardPoint | null; plays?: boolean } = {}): Child {
    const given = { url: this.database.url, directory: this.directory, journal: this.#journal, point, plays };
    const child = startChild(SCRIPT, [JSON.stringify(given)]);
    this.#servers.add(child);
    void child.ended.then(() => this.#servers.delete(child));
    return child;
  }

  /** PIDs of live runners, by runner. */
  processes(): Map<string, number> {
    const records = new RunnerRecords(this.directory);
    const alive = records.ids().flatMap((id) => {
      const mark = records.processOf(id);
      return mark !== null && isAlive(mark) ? [[id, mark.pid] as const] : [];
    });
    return new Map(alive);
  }

  /** Asserts that no request has more runners than requested, and that every held runner belongs to its request. */
  async checkHeld(): Promise<void> {
    assert.deepEqual(await this.database.database.query(HELD), []);
  }

  /** Whether a point was reached. */
  met({ process: who, port, method, when }: YardPoint): boolean {
    return readdirSync(this.#journal).includes(`died-${who}-${port}-${method}-${when}`);
  }

  /** Ends every request and runner; their processes end shortly after. */
  async endAll(): Promise<void> {
    await eventually(
      async () => {
        const requests = [...(await this.store.waiting(1_000)), ...(await this.store.granted(1_000))];
        const runners = await this.store.list({ ended: false }, { offset: 0, limit: 1_000 });
        const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);
        await this.store.withdraw(idsOf(requests), 'the test ends');
        await this.store.drain(idsOf(runners), 'the test ends');
        const [states] = await this.database.database.query<{ live: number; open: number }>(STATES);
        return states!.live === 0 && states!.open === 0;
      },
      'no runner and no request is left',
      GONE_MS,
    );
  }

  /** Ends every request and runner through the pool, and checks the rest. */
  async finish(): Promise<{ claims: number; runners: number }> {
    const last = this.start();
    await last.told('ready');
    await this.endAll();
    await eventually(() => this.processes().size === 0, 'no process of a runner is left', GONE_MS);
    await eventually(
      async () => (await this.store.leaving('process@yard', 10)).length === 0,
      'nothing leaves any more',
      GONE_MS,
    );
    last.process.kill('SIGTERM');
    assert.equal(await last.ended, 0, last.errors());
    return this.#judge();
  }

  /** Requests that a runner started. */
  started(): Set<string> {
    return new Set(this.#notes().flatMap(({ event, request }) => (event === 'started' && request ? [request] : [])));
  }

  #notes(): Note[] {
    const files = readdirSync(this.#journal).filter((name) => name.endsWith('.jsonl'));
    return files.flatMap((name) =>
      readFileSync(join(this.#journal, name), 'utf8')
        .split('\n')
        .filter((text) => text !== '')
        .map((text) => JSON.parse(text) as Note),
    );
  }

  /** Asserts that every runner was one process, and that every claim was started once. */
  #judge(): { claims: number; runners: number } {
    const notes = this.#notes();
    const pids = new Map<string, number>();
    const started = new Set<string>();
    for (const { event, runner, pid, epoch } of notes) {
      assert.equal(pids.get(runner) ?? pid, pid, `the runner ${runner} was two processes`);
      pids.set(runner, pid);
      if (event !== 'started') continue;
      assert.ok(!started.has(`${runner}/${epoch}`), `the claim ${epoch} of ${runner} was started twice`);
      started.add(`${runner}/${epoch}`);
    }
    return { claims: started.size, runners: pids.size };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers].map((each) => each.kill()));
    for (const pid of this.processes().values()) process.kill(pid, 'SIGKILL');
    await this.database.drop();
    rmSync(this.#home, { recursive: true, force: true });
  }
}
