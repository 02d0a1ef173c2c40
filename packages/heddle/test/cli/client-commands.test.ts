import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { eventually } from '@heddle/test-support/eventually';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { heddle, type Ran } from '../support/cli/run-command.ts';
import { startTarget, type Target } from '../support/cli/targets.ts';

let server: Heddle;
let target: Target;
let directory: string;

before(async () => {
  server = await startHeddle();
  target = await startTarget();
  directory = await mkdtemp(join(tmpdir(), 'heddle-cli-'));
});

after(async () => {
  await server.stop();
  await target.close();
  await rm(directory, { recursive: true });
});

const UNKNOWN_ID = '01900000-0000-7000-8000-000000000000';

const on = (...args: string[]): Promise<Ran> => heddle([...args, '--url', server.url]);

function webhook(path: string): object {
  return { kind: 'Webhook', params: { url: `${target.url}${path}`, verb: 'Post' } };
}

interface Wire {
  id: string;
  status: string;
  name: string;
  batch_id: string;
  attempt: number;
  failure_reason: string | null;
  metadata: Record<string, unknown>;
}

let submitted = 0;

/** Submits tasks; a task with `path` starts by a call of the target. */
async function submit(
  tasks: (Record<string, unknown> & { path?: string })[],
): Promise<{ batch: string; tasks: Wire[] }> {
  submitted += 1;
  const body = tasks.map(({ path, ...task }) => ({
    name: 'a task',
    kind: 'test',
    ...task,
    ...(path === undefined ? {} : { on_start: webhook(path) }),
  }));
  const file = join(directory, `${submitted}.json`);
  await writeFile(file, JSON.stringify(body));
  const ran = await on('batch', 'submit', file, '--json');
  assert.equal(ran.code, 0, ran.stderr);
  const { batch_id, tasks: created } = ran.json() as { batch_id: string; tasks: Wire[] };
  return { batch: batch_id, tasks: created };
}

async function taskNow(id: string): Promise<Wire> {
  return (await on('task', 'get', id, '--json')).json() as Wire;
}

function untilStatus(id: string, status: string): Promise<Wire | undefined> {
  return eventually(async () => {
    const task = await taskNow(id);
    return task.status === status ? task : undefined;
  }, `task ${id} is ${status}`);
}

describe('batch', () => {
  test('submit creates the tasks of a file and prints where to view them', async () => {
    const file = join(directory, 'two.json');
    await writeFile(file, '\uFEFF[{"name":"a","kind":"test"},{"name":"b","kind":"test"}]');
    const ran = await on('batch', 'submit', file);
    assert.equal(ran.code, 0);
    assert.match(ran.lines[0]!, /^batch [0-9a-f-]{36}: 2 tasks created$/);
    assert.match(ran.lines[1]!, new RegExp(`^see it at ${server.url}/runs/[0-9a-f-]{36}$`));
    assert.equal(
      ran.stderr,
      'warning: no worker has ever requested tasks of the kind "test"; they wait until one does\n',
    );
  });

  test('submit warns of a misspelled kind on standard error, and in the document', async () => {
    const file = join(directory, 'misspelled.json');
    await writeFile(file, '[{"name":"a","kind":"FilterModel"},{"name":"b","kind":"Filter"}]');
    const ran = await on('batch', 'submit', file, '--json');
    assert.equal(ran.code, 0);
    assert.equal(
      ran.stderr,
      'warning: no worker has ever requested tasks of the kind "FilterModel"; did you mean "FilterModels"? Otherwise they wait until one does\n',
    );
    const { warnings } = ran.json() as { warnings: { kind: string; did_you_mean: string | null }[] };
    assert.deepEqual(
      warnings.map(({ kind, did_you_mean }) => [kind, did_you_mean]),
      [['FilterModel', 'FilterModels']],
    );
  });

  test('submit reads standard input, and the same key creates nothing twice', async () => {
    const stdin = '[{"name":"once","kind":"test.once"}]';
    const args = ['batch', 'submit', '-', '--json', '--idempotency-key', 'key-1', '--url', server.url];
    const first = (await heddle(args, { stdin })).json() as { batch_id: string; tasks: Wire[] };
    const second = (await heddle(args, { stdin })).json() as { batch_id: string; tasks: Wire[] };
    assert.equal(second.batch_id, first.batch_id);
    assert.equal(second.tasks[0]!.id, first.tasks[0]!.id);
    const listed = (await on('task', 'list', '--kind', 'test.once', '--json')).json() as Wire[];
    assert.equal(listed.length, 1);
    const other = await heddle(args, { stdin: '[{"name":"another","kind":"test.once"}]' });
    assert.equal(other.code, 1);
    assert.match(other.stderr, /IDEMPOTENCY_MISMATCH/);
  });

  test('submit reports every fault of the tasks with its field, and creates nothing', async () => {
    const stdin = '[{"name":"","kind":"test.bad"},{"kind":"test.bad","name":"b","dependencies":[{"id":"nobody"}]}]';
    const ran = await heddle(['batch', 'submit', '-', '--url', server.url], { stdin });
    assert.equal(ran.code, 2);
    assert.match(ran.stderr, /error\[VALIDATION_FAILED\]/);
    assert.match(ran.stderr, /tasks\[0\]\.name/);
    assert.match(ran.stderr, /hint: fix the errors listed above/);
    assert.equal(ran.stdout, '');
    assert.deepEqual((await on('task', 'list', '--kind', 'test.bad', '--json')).json(), []);
  });

  test('submit names the batch', async () => {
    const args = ['batch', 'submit', '-', '--name', 'nightly run', '--json', '--url', server.url];
    const { batch_id } = (await heddle(args, { stdin: '[{"name":"n","kind":"x"}]' })).json() as { batch_id: string };
    assert.match((await on('batch', 'get', batch_id)).stdout, /name +nightly run\n/);
    assert.match((await on('batch', 'list')).stdout, new RegExp(`${batch_id} +nightly run +0/1`));
  });

  test('submit of no tasks succeeds without a batch', async () => {
    const ran = await heddle(['batch', 'submit', '-', '--json', '--url', server.url], { stdin: '[]' });
    assert.equal(ran.code, 0);
    assert.deepEqual(ran.json(), { batch_id: null, tasks: [] });
  });

  for (const [what, stdin, told] of [
    ['text that is not JSON', '{"name": ', /standard input is not valid JSON/],
    ['nothing', '', /standard input is not valid JSON/],
    ['an object', '{"name":"a"}', /standard input does not contain an array/],
  ] as const) {
    test(`submit rejects ${what}`, async () => {
      const ran = await heddle(['batch', 'submit', '-', '--url', server.url], { stdin });
      assert.equal(ran.code, 2);
      assert.match(ran.stderr, told);
      assert.match(ran.stderr, /hint: a batch is an array of tasks/);
    });
  }

  test('submit names an unreadable file', async () => {
    const missing = await on('batch', 'submit', join(directory, 'missing.json'));
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /missing\.json cannot be read: no such file/);
    const folder = await on('batch', 'submit', directory);
    assert.equal(folder.code, 2);
    assert.match(folder.stderr, /is a directory/);
  });

  test('get shows counts by status, and tasks with links on request', async () => {
    const { batch } = await submit([
      { id: 'p', name: 'parent' },
      { id: 'c', name: 'child', dependencies: [{ id: 'p' }] },
    ]);
    const ran = await on('batch', 'get', batch);
    assert.equal(ran.code, 0);
    assert.match(ran.stdout, /ended +0 of 2 tasks/);
    assert.match(ran.stdout, /1 Pending .*1 Waiting/);
    const full = (await on('batch', 'get', batch, '--tasks', '--json')).json() as Record<string, unknown>;
    assert.deepEqual(full['by_status'], { Pending: 1, Waiting: 1 });
    assert.equal((full['tasks'] as unknown[]).length, 2);
    assert.equal((full['links'] as unknown[]).length, 1);
    const table = await on('batch', 'get', batch, '--tasks');
    assert.match(table.stdout, /Waiting +test +child/);
  });

  test('list distinguishes open from completed ones; cancel ends all that is left', async () => {
    const { batch } = await submit([{}, {}, {}]);
    const ids = async (flag: string): Promise<string[]> =>
      ((await on('batch', 'list', flag, '--json')).json() as Wire[]).map(({ id }) => id);
    assert.ok((await ids('--open')).includes(batch));
    assert.ok(!(await ids('--ended')).includes(batch));
    const stopped = await on('batch', 'cancel', batch, '--json');
    assert.deepEqual([stopped.code, stopped.json()], [0, { batch_id: batch, canceled: 3 }]);
    assert.ok(!(await ids('--open')).includes(batch));
    assert.ok((await ids('--ended')).includes(batch));
    assert.match((await on('batch', 'cancel', batch)).stdout, /has already completed; nothing was canceled/);
    assert.match((await on('batch', 'list', '--page-size', '1')).stdout, /^ID +NAME +ENDED +CREATED +TOOK\n/);
    assert.equal((await on('batch', 'list', '--open', '--ended')).code, 2);
  });

  test('a missing object is exit code 3, with its code and what to do', async () => {
    for (const command of [['get'], ['cancel'], ['watch']]) {
      const ran = await on('batch', ...command, UNKNOWN_ID);
      assert.equal(ran.code, 3, command[0]);
      assert.match(ran.stderr, /error\[NOT_FOUND\]: /);
      assert.match(ran.stderr, /hint: list existing objects/);
    }
    const json = await on('batch', 'get', UNKNOWN_ID, '--json');
    assert.equal(json.stdout, '');
    const report = JSON.parse(json.stderr) as Record<string, unknown>;
    assert.deepEqual([report['code'], report['exit_code']], ['NOT_FOUND', 3]);
  });
});

describe('task', () => {
  test('list filters, and shows a table', async () => {
    const { batch } = await submit([
      { name: 'red one', kind: 'test.red', metadata: { tenant: 'a' } },
      { name: 'blue one', kind: 'test.blue', metadata: { tenant: 'b' } },
    ]);
    const names = async (...filter: string[]): Promise<string[]> =>
      ((await on('task', 'list', '--batch', batch, '--json', ...filter)).json() as Wire[]).map(({ name }) => name);
    assert.deepEqual((await names()).sort(), ['blue one', 'red one']);
    assert.deepEqual(await names('--kind', 'red'), ['red one']);
    assert.deepEqual(await names('--name', 'BLUE'), ['blue one']);
    assert.deepEqual(await names('--metadata', '{"tenant":"a"}'), ['red one']);
    assert.deepEqual(await names('--status', 'Running'), []);
    assert.equal((await names('--page-size', '1')).length, 1);
    assert.deepEqual(await names('--page', '7'), []);
    const table = await on('task', 'list', '--batch', batch);
    assert.match(table.lines[0]!, /^ID +STATUS +KIND +NAME +TRY +DONE +RAN$/);
    assert.equal(table.lines.length, 3);
    assert.equal((await on('task', 'list', '--name', 'no such name')).stdout, 'no matching tasks\n');
  });

  test('finish ends a running task with its reason and metadata', async () => {
    const { tasks } = await submit([{ path: '/good', metadata: { kept: 1 } }, { path: '/bad' }]);
    const [good, bad] = tasks.map(({ id }) => id) as [string, string];
    await Promise.all([untilStatus(good, 'Running'), untilStatus(bad, 'Running')]);
    const done = await on('task', 'finish', good, '--status', 'Success', '--metadata', '{"rows":7}', '--json');
    assert.equal(done.code, 0, done.stderr);
    assert.deepEqual((done.json() as Wire).metadata, { kept: 1, rows: 7 });
    const failed = await on('task', 'finish', bad, '--status', 'Failure', '--reason', 'disk full');
    assert.equal(failed.code, 0);
    assert.match(failed.stdout, /Failure a task \([0-9a-f-]{36}\): disk full/);
    const again = await on('task', 'finish', good, '--status', 'Failure', '--reason', 'changed my mind');
    assert.equal(again.code, 1);
    assert.match(again.stderr, /error\[CONFLICT\]/);
    assert.match((await on('task', 'explain', bad)).stdout, /It has ended \(failed\): disk full/);
  });

  test('finish requires a reason with Failure, and only with Failure', async () => {
    const finish = (...args: string[]): Promise<Ran> => on('task', 'finish', UNKNOWN_ID, ...args);
    assert.match((await finish('--status', 'Failure')).stderr, /--reason is needed/);
    assert.match((await finish('--status', 'Success', '--reason', 'x')).stderr, /--reason requires/);
    assert.match((await finish('--status', 'Success', '--metadata', '[1]')).stderr, /--metadata is not a JSON object/);
    assert.match((await finish('--status', 'Success', '--metadata', '{')).stderr, /--metadata is not valid JSON/);
    for (const args of [['--status', 'Failure'], ['--status', 'Done'], []]) {
      assert.equal((await finish(...args)).code, 2, args.join(' '));
    }
    assert.equal((await finish('--status', 'Success')).code, 3);
  });

  test('pause, resume, cancel and retry change a task', async () => {
    const { tasks } = await submit([{ name: 'controlled' }]);
    const { id } = tasks[0]!;
    const steer = async (verb: string): Promise<[number, string]> => {
      const ran = await on('task', verb, id, '--json');
      return [ran.code, (ran.json() as Wire).status];
    };
    assert.deepEqual(await steer('pause'), [0, 'Paused']);
    assert.match((await on('task', 'explain', id)).stdout, /It is paused/);
    assert.deepEqual(await steer('resume'), [0, 'Pending']);
    assert.deepEqual(await steer('cancel'), [0, 'Canceled']);
    const twice = await on('task', 'cancel', id);
    assert.equal(twice.code, 1);
    assert.match(twice.stderr, /CONFLICT/);
    assert.deepEqual(await steer('retry'), [0, 'Pending']);
    assert.match((await on('task', 'pause', id)).stdout, /^‖ Paused controlled \(/);
  });

  test('attempts keep their outcomes: the targets, the statuses and the reasons', async () => {
    target.answers.set('/attempted', 418);
    const { tasks } = await submit([{ name: 'retried by hand', path: '/attempted' }, { name: 'waiting' }]);
    const { id } = tasks[0]!;
    await untilStatus(id, 'Failure');
    target.answers.delete('/attempted');
    assert.equal((await on('task', 'retry', id)).code, 0);
    await untilStatus(id, 'Running');
    assert.equal((await on('task', 'finish', id, '--status', 'Success')).code, 0);
    const ran = await on('task', 'attempts', id);
    assert.equal(ran.code, 0, ran.stderr);
    const host = target.url.replaceAll('.', '\\.');
    assert.match(
      ran.stdout,
      new RegExp(`\n +2 +succeeded .* ${host}: 202\\s*\n +1 +failed .* ${host}: 418 +its start webhook`),
    );
    const [last] = (await on('task', 'attempts', id, '--limit', '1', '--json')).json() as { attempt: number }[];
    assert.equal(last!.attempt, 2);
    assert.match((await on('task', 'explain', id)).stdout, /\n +1 +failed /);
    assert.equal((await on('task', 'attempts', tasks[1]!.id)).stdout, 'it has not been started\n');
    assert.equal((await on('task', 'attempts', UNKNOWN_ID)).code, 3);
  });

  test('explain names unfinished parents', async () => {
    const { tasks } = await submit([
      { id: 'p', name: 'slow parent' },
      { id: 'c', dependencies: [{ id: 'p', requires_success: false }] },
    ]);
    const ran = await on('task', 'explain', tasks[1]!.id);
    assert.equal(ran.code, 0);
    assert.match(ran.stdout, /waiting for 1 task:\n +Pending slow parent \([0-9a-f-]{36}\), which must end/);
    const json = (await on('task', 'explain', tasks[1]!.id, '--json')).json() as { obstacles: { type: string }[] };
    assert.deepEqual(
      json.obstacles.map(({ type }) => type),
      ['parents'],
    );
  });

  test('explain names the rule and its slot holders', async () => {
    const matcher = { kind: 'test.ruled', status: 'Running', fields: ['tenant'] };
    const rules = [{ type: 'Concurrency', matcher, max_concurrency: 1 }];
    const ruled = { kind: 'test.ruled', metadata: { tenant: 'x' }, rules };
    const { tasks } = await submit([
      { ...ruled, name: 'holder', path: '/holder', priority: 5 },
      { ...ruled, name: 'held', path: '/held' },
    ]);
    await untilStatus(tasks[0]!.id, 'Running');
    const ran = await on('task', 'explain', tasks[1]!.id);
    assert.match(ran.stdout, /rule: 1 of 1 tasks of kind test\.ruled where tenant="x" are held by:\n +Running holder/);
    await target.finish('/holder');
    await untilStatus(tasks[1]!.id, 'Running');
    await target.finish('/held');
  });

  test('get shows all members of a task; hostile names cannot control the terminal', async () => {
    const members = { retry: { max_attempts: 4 }, timeout: 90, timeout_basis: 'start' };
    const { tasks } = await submit([{ name: 'evil \u001b[2J\u202e name', path: '/shown', ...members }]);
    const ran = await on('task', 'get', tasks[0]!.id);
    assert.match(ran.stdout, /name +evil {2}\[2J {2}name\n/);
    assert.doesNotMatch(ran.stdout, /[\u001b\u202e]/);
    assert.match(ran.stdout, /attempt +\d of at most 4/);
    assert.match(ran.stdout, /timeout +90 s from its start/);
    assert.match(ran.stdout, new RegExp(`action +Start: Post ${target.url}/shown`));
  });
});

describe('webhook', () => {
  test('list shows the outcomes of deliveries; replay revives a dead one, but not a start', async () => {
    target.answers.set('/refusing', 418).set('/told', 418);
    const { tasks } = await submit([{ name: 'refused', path: '/refusing', on_failure: [webhook('/told')] }]);
    const { id } = tasks[0]!;
    const failed = await untilStatus(id, 'Failure');
    assert.match(failed!.failure_reason!, /418/);
    interface Listed {
      id: string;
      state: string;
      tries: number;
      action: { trigger: string };
    }
    const find = async (trigger: string): Promise<Listed> => {
      const listed = (await on('webhook', 'list', '--task', id, '--json')).json() as Listed[];
      return listed.find(({ action }) => action.trigger === trigger)!;
    };
    const dead = await eventually(async () => {
      const delivery = await find('End');
      return delivery.state === 'dead' && delivery;
    }, 'the end webhook is abandoned');
    assert.equal(dead.tries, 1);
    const table = await on('webhook', 'list', '--state', 'dead');
    assert.match(table.stdout, /dead +Failure +Post http.*\/told +1 +418/);
    target.answers.set('/told', 200);
    const replayed = await on('webhook', 'replay', dead.id, '--json');
    assert.deepEqual([replayed.code, replayed.json()], [0, { id: dead.id, replayed: true }]);
    await eventually(async () => (await find('End')).state === 'delivered', 'the replayed delivery is delivered');
    for (const delivery of [dead, await find('Start')]) {
      const refused = await on('webhook', 'replay', delivery.id);
      assert.equal(refused.code, 3);
      assert.match(refused.stderr, /No such dead delivery/);
    }
    assert.equal((await on('webhook', 'list', '--state', 'lost')).code, 2);
  });
});

describe('URL of the server', () => {
  test('no server: exit code 4, and how to start one', async () => {
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve));
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    for (const args of [
      ['batch', 'list'],
      ['task', 'get', UNKNOWN_ID],
      ['batch', 'watch', UNKNOWN_ID],
      ['webhook', 'list'],
    ]) {
      const ran = await heddle([...args, '--url', `http://127.0.0.1:${port}`]);
      assert.equal(ran.code, 4, args.join(' '));
      assert.match(ran.stderr, /error\[UNREACHABLE\]: no server answers at .*: the connection was refused/);
      assert.match(ran.stderr, /hint: start one with `heddle up`/);
      assert.equal(ran.stdout, '');
    }
  });

  test('another server is recognized', async () => {
    const stranger = createServer((request, response) => {
      response.writeHead(request.url?.startsWith('/task') === true ? 200 : 404, { 'content-type': 'text/html' });
      response.end('<h1>hello</h1>');
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    for (const args of [
      ['task', 'list'],
      ['batch', 'list'],
    ]) {
      const ran = await heddle([...args, '--url', url]);
      assert.equal(ran.code, 4, args.join(' '));
      assert.match(ran.stderr, /error\[NOT_HEDDLE\]/);
    }
    stranger.close();
    stranger.closeAllConnections();
  });

  test('a token that is missing, unknown or too narrow: exit code 5', async () => {
    const guarded = await startHeddle({ flags: { HEDDLE_REQUIRE_TOKENS: '1' }, scopes: ['read'] });
    const text = guarded.token!;
    const ask = (...args: string[]): Promise<Ran> => heddle([...args, '--url', guarded.url]);
    const missing = await ask('task', 'list');
    assert.equal(missing.code, 5);
    assert.match(missing.stderr, /UNAUTHENTICATED/);
    assert.match(missing.stderr, /heddle token create/);
    assert.equal((await ask('task', 'list', '--token', 'nonsense')).code, 5);
    assert.equal((await ask('task', 'list', '--token', text)).code, 0);
    const narrow = await ask('batch', 'cancel', UNKNOWN_ID, '--token', text);
    assert.equal(narrow.code, 5);
    assert.match(narrow.stderr, /FORBIDDEN/);
    await guarded.stop();
  });
});

describe('the command line', () => {
  for (const args of [
    ['batch', 'get', 'nonsense'],
    ['batch', 'get', '..'],
    ['batch', 'get'],
    ['batch', 'get', UNKNOWN_ID, 'more'],
    ['batch', 'list', '--page', '-1'],
    ['batch', 'list', '--page-size', '0'],
    ['batch', 'submit'],
    ['task', 'list', '--status', 'Lost'],
    ['task', 'list', '--metadata', 'not json'],
    ['task', 'list', '--url', 'ftp://127.0.0.1'],
    ['task', 'list', '--url', 'nowhere'],
    ['task', 'list', '--url', 'http://me:secret@127.0.0.1'],
    ['task', 'frobnicate'],
    ['webhook', 'replay', '17'],
  ]) {
    test(`rejects: heddle ${args.join(' ')}`, async () => {
      const ran = await heddle(args.includes('--url') ? args : [...args, '--url', 'http://127.0.0.1:9']);
      assert.equal(ran.code, 2);
      assert.notEqual(ran.stderr, '');
      assert.equal(ran.stdout, '');
    });
  }
});
