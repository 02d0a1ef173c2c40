/** `heddle task logs` and `heddle workflow logs` of tasks with several attempts and with lines that are missing. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { HeddleClient, type WorkDto } from '@heddle/client';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { eventually } from '@heddle/test-support/eventually';
import { heddle, type Ran } from '../support/cli/run-command.ts';

describe('logs on the command line', { concurrency: false }, () => {
  let server: Heddle;
  let client: HeddleClient;
  let workflow: string;
  let tasks: WorkDto[];

  const cli = (...args: string[]): Promise<Ran> => heddle([...args, '--url', server.url]);
  const say = (task: WorkDto, first_line: number, ...texts: string[]): Promise<void> =>
    client.work.log(task, { first_line, lines: texts.map((text) => ({ text })) });

  async function claim(): Promise<WorkDto> {
    const [work] = await eventually(async () => {
      const claimed = await client.work.claim({ kinds: ['logged'] });
      return claimed.length > 0 ? claimed : undefined;
    }, 'a task');
    return work!;
  }

  before(async () => {
    server = await startHeddle();
    client = new HeddleClient({ baseUrl: server.url });
    const retry = { max_attempts: 2, backoff_secs: 0 };
    const node = (local_id: string): object => ({ kind: 'logged', local_id, retry });
    ({ id: workflow } = await client.submitWorkflow({
      root: { mode: 'sequential', children: [node('first'), node('second')] as never },
    }));
    const first = await claim();
    await say(first, 0, 'a', 'b');
    await client.work.fail(first, 'once more');
    const again = await claim();
    // Its worker kept the newest lines only.
    await say(again, 5, 'f', 'g');
    await client.work.complete(again);
    const second = await claim();
    await say(second, 0, 'c');
    await client.work.complete(second);
    tasks = [first, second];
  });

  after(() => server.stop());

  test('lines of a workflow name their tasks', async () => {
    const shown = await cli('workflow', 'logs', workflow);
    assert.deepEqual(
      shown.lines.filter((line) => line.includes('|')),
      ['first | f', 'first | g', 'second | c'],
    );
    const json = await cli('workflow', 'logs', workflow, '--json');
    assert.deepEqual(
      json.lines.map((line) => {
        const { task_id, local_id, attempt, number, text } = JSON.parse(line) as Record<string, unknown>;
        return [task_id, local_id, attempt, number, text];
      }),
      [
        [tasks[0]!.id, 'first', 2, 5, 'f'],
        [tasks[0]!.id, 'first', 2, 6, 'g'],
        [tasks[1]!.id, 'second', 1, 0, 'c'],
      ],
    );
  });

  test('lines that were left out at the beginning are mentioned, unless only the last ones are wanted', async () => {
    const all = await cli('task', 'logs', tasks[0]!.id);
    assert.deepEqual(all.lines, ['… 5 lines left out …', 'f', 'g']);
    assert.deepEqual((await cli('task', 'logs', tasks[0]!.id, '--follow')).lines, all.lines);
    assert.deepEqual((await cli('task', 'logs', tasks[0]!.id, '--tail', '1')).lines, ['g']);
    assert.deepEqual((await cli('task', 'logs', tasks[0]!.id, '--attempt', '1')).lines, ['a', 'b']);
  });

  test('an attempt that the task has not had is an error', async () => {
    for (const more of [[], ['--follow']]) {
      const { code, stderr } = await cli('task', 'logs', tasks[0]!.id, '--attempt', '3', ...more);
      assert.equal(code, 3, stderr);
      assert.match(stderr, /The task has had 2 attempts; there is no attempt 3/);
    }
  });
});
