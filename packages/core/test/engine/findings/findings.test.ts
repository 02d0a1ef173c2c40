/** Findings over many runs, on a real database. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';

import type { Findings, ScanBooks } from '../../../src/engine/findings/port.ts';
import { newId } from '@heddle/base/random';
import type { Database, Statement } from '../../../src/store/database.ts';
import { coverRun, markGone, mergeFindings } from '../../../src/store/findings.ts';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { findingsOf, reported, runOf } from '@heddle/test-support/engine/findings/reported';

const ALL = { after: null, limit: 1000 };
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const WAITING: Statement = {
  name: 'test.waiting',
  text: `select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
};

const LOCK_AT_ONCE: Statement = {
  name: 'test.lock_at_once',
  text: `select id from recon.findings where path = $1 for update nowait`,
};

describe('findings over runs', () => {
  let database: Database;
  let findings: Findings & ScanBooks;

  before(async () => {
    ({ database } = await createTestDatabase());
    findings = findingsOf(database);
  });

  async function statesOf(target: string): Promise<Record<string, string>> {
    const listed = await findings.list({ target }, ALL);
    return Object.fromEntries(listed.map(({ path, state }) => [path, state]));
  }

  it('are new at first, then known, gone when a run that covered everything misses them, and new when they return', async () => {
    const target = 'story';
    const first = await runOf(findings, target, [reported(1), reported(2)]);
    assert.deepEqual([first.number, first.new, first.known, first.gone], [1, 2, 0, 0]);
    const second = await runOf(findings, target, [reported(2, { line: 99 }), reported(3)]);
    assert.deepEqual([second.number, second.new, second.known, second.gone], [2, 1, 1, 1]);
    assert.deepEqual(second.by_rule, [{ rule_id: 'made-up-token', new: 1, known: 1, gone: 1 }]);
    assert.deepEqual(await statesOf(target), {
      'src/file-1.ts': 'gone',
      'src/file-2.ts': 'known',
      'src/file-3.ts': 'new',
    });
    const known = (await findings.list({ target, states: ['known'] }, ALL))[0]!;
    assert.equal(known.line, 99, 'where it stands now');
    assert.equal(known.runs, 2);
    assert.equal(known.first_seen, first.started_at);
    assert.equal(known.last_seen, second.started_at);
    const gone = (await findings.list({ target, states: ['gone'] }, ALL))[0]!;
    assert.equal(gone.gone_at, second.started_at);
    const third = await runOf(findings, target, [reported(1), reported(2), reported(3)]);
    assert.deepEqual([third.new, third.known, third.gone], [1, 2, 0]);
    const returned = (await findings.list({ target, states: ['new'] }, ALL))[0]!;
    assert.deepEqual([returned.path, returned.gone_at, returned.runs], ['src/file-1.ts', null, 2]);
    assert.equal(returned.first_seen, first.started_at, 'the first time stays the first time');
  });

  it('are not gone because a run that left something out has missed them', async () => {
    await runOf(findings, 'partial', [reported(1), reported(2)]);
    const run = await runOf(findings, 'partial', [reported(2)], { complete: false });
    assert.deepEqual([run.complete, run.new, run.known, run.gone], [false, 0, 1, 0]);
    assert.deepEqual(await statesOf('partial'), { 'src/file-1.ts': 'new', 'src/file-2.ts': 'known' });
  });

  it('are counted once a run, however often the run merges them', async () => {
    await runOf(findings, 'again', [reported(1)]);
    const id = newId();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const { run, open } = await findings.beginRun(id, 'again');
      assert.deepEqual([run.number, open], [2, true]);
      await findings.merge(id, [reported(1), reported(2), reported(2)]);
      const ended = await findings.finishRun(id, true);
      assert.deepEqual([ended.new, ended.known, ended.gone], [1, 1, 0]);
    }
    const [two, one] = await findings.list({ target: 'again' }, ALL);
    assert.deepEqual([two!.runs, two!.state, one!.runs, one!.state], [1, 'new', 2, 'known']);
  });

  it('belong to their target', async () => {
    await runOf(findings, 'here', [reported(1)]);
    await runOf(findings, 'there', [reported(1), reported(2)]);
    await runOf(findings, 'here', []);
    assert.deepEqual(await statesOf('here'), { 'src/file-1.ts': 'gone' });
    assert.deepEqual(await statesOf('there'), { 'src/file-1.ts': 'new', 'src/file-2.ts': 'new' });
  });

  it('of a run that a later one overtook are judged by the later one', async () => {
    const [slow, fast] = [newId(), newId()];
    await findings.beginRun(slow, 'overtaken');
    await findings.merge(slow, [reported(1)]);
    await runOf(findings, 'overtaken', [reported(2)], { id: fast });
    assert.deepEqual(await statesOf('overtaken'), { 'src/file-1.ts': 'gone', 'src/file-2.ts': 'new' });
    await findings.merge(slow, [reported(2), reported(3)]);
    await findings.finishRun(slow, true);
    assert.deepEqual(await statesOf('overtaken'), {
      'src/file-1.ts': 'gone',
      'src/file-2.ts': 'new',
      'src/file-3.ts': 'gone',
    });
    const { open } = await findings.beginRun(slow, 'overtaken');
    assert.equal(open, false, 'what ended and was overtaken is history');
  });

  it('merge at the same time without losing any', async () => {
    const all = Array.from({ length: 3000 }, (_, n) => reported(n + 1));
    const ids = Array.from({ length: 4 }, () => newId());
    await Promise.all(ids.map((id) => runOf(findings, 'crowd', all, { id, complete: true })));
    const books = await database.query<{ n: number; runs: number }>({
      name: 'test.crowd',
      text: `select count(*) as n, max(f.last_run) as runs from recon.findings f join recon.scan_target t on t.id = f.target_id
        where t.name = 'crowd' and f.state <> 'gone'`,
    });
    assert.deepEqual(books, [{ n: 3000, runs: 4 }]);
  });

  it('are found by target, rule, state, triage, path and time, newest first, page by page', async () => {
    const many = Array.from({ length: 25 }, (_, n) =>
      reported(n, { path: `dir_${n % 2}/x%${n}`, rule_id: n % 5 === 0 ? 'fifth' : 'other' }),
    );
    const run = await runOf(findings, 'pages', many);
    const seen: string[] = [];
    for (let after: string | null = null; ;) {
      const page = await findings.list({ target: 'pages' }, { after, limit: 10 });
      seen.push(...page.map(({ id }) => id));
      if (page.length < 10) break;
      after = page.at(-1)!.id;
    }
    assert.equal(seen.length, 25);
    assert.deepEqual(seen, [...seen].sort().reverse());
    const count = async (filter: object) => (await findings.list({ target: 'pages', ...filter }, ALL)).length;
    assert.equal(await count({ rule_id: 'fifth' }), 5);
    assert.equal(await count({ path_prefix: 'dir_1/' }), 12);
    assert.equal(await count({ path_prefix: 'dir%' }), 0, 'a prefix is no pattern');
    assert.equal(await count({ path_prefix: 'x'.repeat(300) }), 0);
    assert.equal(await count({ states: ['known', 'gone'] }), 0);
    assert.equal(await count({ since: run.started_at }), 25);
    assert.equal(await count({ since: run.started_at + 1 }), 0);
    assert.equal(await count({ triage: 'ignored' }), 0);
    const id = seen[3]!;
    const change = { state: 'ignored', comment: 'a fixture', by: 'ann' } as const;
    assert.deepEqual(await findings.triage([id, newId()], change), [{ id, changed: true }]);
    const triaged = (await findings.get(id))!;
    assert.deepEqual(
      [triaged.triage.state, triaged.triage.by, triaged.triage.comment],
      ['ignored', 'ann', 'a fixture'],
    );
    assert.deepEqual(await findings.triage([id], { ...change, by: 'bob' }), [{ id, changed: false }]);
    assert.deepEqual((await findings.get(id))!.triage, triaged.triage, 'a repeat leaves who decided and when');
    assert.equal(await count({ triage: 'ignored', rule_id: triaged.rule_id, path_prefix: 'dir', states: ['new'] }), 1);
    await runOf(findings, 'pages', many);
    assert.equal((await findings.get(id))!.triage.state, 'ignored', 'a later run leaves the judgement alone');
    assert.equal(await findings.get(newId()), null);
    assert.deepEqual(await findings.triage([newId()], { state: 'open', comment: null, by: null }), []);
  });

  it('of one target may be merged by one run while another one marks what is gone: neither waits for the other in a ring', async () => {
    // The order of fingerprints is not that of ids.
    const first = reported(901);
    const second = reported(900);
    await runOf(findings, 'ring', [first]);
    await runOf(findings, 'ring', [first, second]);
    const [merging, marking] = [newId(), newId()];
    await findings.beginRun(merging, 'ring');
    await findings.beginRun(marking, 'ring');
    await coverRun(database, marking);
    let marked: Promise<string | null> = Promise.resolve(null);
    await database.transaction(async (tx) => {
      await mergeFindings(tx, merging, [{ ...second, id: newId() }]);
      marked = markGone(database, marking, FIRST_ID, 10);
      await eventually(async () => {
        const [row] = await database.query<{ n: number }>(WAITING, []);
        return row!.n > 0;
      }, 'the other run waits');
      // Where it held this one, each would wait for the other until the database ended one of them.
      await tx.query(LOCK_AT_ONCE, [first.path]);
      await mergeFindings(tx, merging, [{ ...first, id: newId() }]);
    });
    await marked;
    assert.deepEqual(await statesOf('ring'), { 'src/file-900.ts': 'gone', 'src/file-901.ts': 'gone' });
  });

  it('have targets with their latest runs', async () => {
    await runOf(findings, 'aaa', [reported(1)]);
    await findings.beginRun(newId(), 'aaa');
    const [target] = await findings.targets({ offset: 0, limit: 1 });
    assert.equal(target!.target, 'aaa');
    assert.equal(target!.runs, 2);
    assert.deepEqual([target!.last_run!.number, target!.last_run!.ended_at], [2, null]);
  });

  it('stay within bounds: what has been gone for long, old runs and old chunks are deleted', async () => {
    await runOf(findings, 'old', [reported(1), reported(2)]);
    await runOf(findings, 'old', [reported(2)]);
    const chunk = { task_id: newId(), attempt: 1, ordinal: 0 };
    await findings.putChunk(chunk, [reported(7)]);
    await findings.putChunk(chunk, [reported(8)]);
    assert.deepEqual(await findings.readChunk(chunk), [reported(8)], 'the same attempt says it again');
    await findings.retain(100);
    assert.equal((await findings.list({ target: 'old' }, ALL)).length, 2, 'nothing is old yet');
    const later = findingsOf(database, { now: () => new Date(Date.now() + 3 * 86_400_000).toISOString() });
    await later.retain(100_000);
    assert.deepEqual(await statesOf('old'), { 'src/file-2.ts': 'known' });
    assert.equal(await findings.readChunk(chunk), null);
    const third = await runOf(findings, 'old', [reported(2)]);
    assert.equal(third.number, 3, 'numbers count on');
  });
});
