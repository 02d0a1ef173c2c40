import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { heddle, type Ran, type RunOptions } from '../support/cli/run-command.ts';

let server: Heddle;
let directory: string;
let file: string;

before(async () => {
  server = await startHeddle();
  directory = await mkdtemp(join(tmpdir(), 'heddle-jobs-'));
  file = join(directory, 'workflow.json');
  await writeFile(file, JSON.stringify({ root: { mode: 'sequential', children: [{ kind: 'never-run' }] } }));
});

after(async () => {
  await server.stop();
  await rm(directory, { recursive: true });
});

const job = (...args: string[]): Promise<Ran> => heddle(['job', ...args, '--url', server.url]);
const jobWith = (options: RunOptions, ...args: string[]): Promise<Ran> =>
  heddle(['job', ...args, '--url', server.url], options);

test('a job from its creation to its deletion', async () => {
  const created = await job('create', 'yearly', '--cron', '@yearly', '--workflow', file, '--time-zone', 'Asia/Tokyo');
  assert.equal(created.code, 0, created.stderr);
  assert.match(created.stdout, /^name +yearly\ncron +@yearly \(Asia\/Tokyo\)\nnext run +\d{4}-12-31T15:00:00.000Z$/m);

  const next = await job('next', 'yearly', '--count', '2');
  assert.match(next.lines[1]!, /^\d{4}-12-31T15:00:00.000Z {2}\d{4}-01-01T00:00:00\+09:00$/);
  assert.equal(next.lines.length, 3);

  const triggered = await job('trigger', 'yearly', '--json');
  const run = triggered.json() as { id: string; workflow_id: string; state: string };
  assert.deepEqual([triggered.code, run.state, run.workflow_id], [0, 'Running', run.id]);
  const again = await job('trigger', 'yearly');
  assert.equal(again.code, 1);
  assert.match(again.stderr, /Job yearly is not started: the run before it has not ended/);
  const history = await job('history', 'yearly', '--state', 'Running');
  assert.match(history.lines[1]!, new RegExp(`Running +manual +[0-9.]+ s +${run.id}`));

  const updated = await job('update', 'yearly', '--recurrence', '3', '--overlap', 'allow', '--json');
  assert.deepEqual(
    [(updated.json() as { recurrence: number }).recurrence, (updated.json() as { overlap: string }).overlap],
    [3, 'allow'],
  );
  const forever = await job('update', 'yearly', '--recurrence', 'forever');
  assert.match(forever.stdout, /^recurrence +forever$/m);
  assert.match((await job('pause', 'yearly')).stdout, /^next run +paused$/m);
  assert.match((await job('next', 'yearly')).stdout, /^none: it is paused/);
  assert.match((await job('list', '--paused')).lines[1]!, /^yearly +@yearly +Asia\/Tokyo +paused/);
  assert.match((await job('resume', 'yearly')).stdout, /^next run +\d{4}-12-31/m);
  assert.match((await job('get', 'yearly')).stdout, /^catch-up +once$/m);
  assert.equal((await job('delete', 'yearly')).stdout, 'deleted job yearly\n');
  assert.equal((await job('get', 'yearly')).code, 3);
  assert.equal((await job('list')).stdout, 'no matching jobs\n');
});

test('creation and change warn of a misspelled kind on standard error, and in the document', async () => {
  const warning =
    'warning: no worker has ever requested tasks of the kind "FilterModel"; did you mean "FilterModels"? Otherwise they wait until one does\n';
  const misspelled = join(directory, 'misspelled.json');
  await writeFile(misspelled, JSON.stringify({ root: { mode: 'sequential', children: [{ kind: 'FilterModel' }] } }));
  const created = await job('create', 'misspelled', '--cron', '@yearly', '--workflow', misspelled);
  assert.deepEqual([created.code, created.stderr], [0, warning]);
  const changed = await job('update', 'misspelled', '--workflow', misspelled, '--json');
  assert.deepEqual([changed.code, changed.stderr], [0, warning]);
  const { warnings } = changed.json() as { warnings: { kind: string; did_you_mean: string | null }[] };
  assert.deepEqual(
    warnings.map(({ kind, did_you_mean }) => [kind, did_you_mean]),
    [['FilterModel', 'FilterModels']],
  );
  assert.equal((await job('update', 'misspelled', '--cron', '@daily')).stderr, '');
  await job('delete', 'misspelled');
});

test('invalid input is reported before or by the server, and nothing is created', async () => {
  const noFile = await job('create', 'bad', '--cron', '@daily', '--workflow', join(directory, 'none.json'));
  assert.deepEqual([noFile.code, /no such file/.test(noFile.stderr)], [2, true]);
  const options = { stdin: '{"mode": "sequential", "children": []}' };
  const noRoot = await jobWith(options, 'create', 'bad', '--cron', '@daily', '--workflow', '-');
  assert.match(noRoot.stderr, /standard input does not contain a workflow/);
  const badCron = await job('create', 'bad', '--cron', '61 * * * *', '--workflow', file);
  assert.deepEqual([badCron.code, /cron: Invalid value for minute: 61/.test(badCron.stderr)], [2, true]);
  assert.equal((await job('create', 'bad', '--cron', '@daily', '--workflow', file, '--recurrence', 'x')).code, 2);
  assert.equal((await job('update', 'bad')).code, 2);
  assert.equal((await job('get', 'bad')).code, 3);
});
