import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { HeddleError } from '@heddle/base/errors';
import type { Submission } from '@heddle/core/engine/port';
import { buildSubmission } from '../../src/http/submit/submission.ts';
import { newId } from '@heddle/base/random';
import { DefinitionsInMemory, task } from '@heddle/test-support/http/server';

function build(body: unknown, definitions = new DefinitionsInMemory()): Promise<Submission> {
  return buildSubmission(body, {
    batchId: newId(),
    name: null,
    traceparent: null,
    idempotency: null,
    newId,
    definitions,
    ssrf: (url) => (url.includes('blocked') ? 'must not lead to this host' : null),
  });
}

async function details(body: unknown): Promise<readonly string[]> {
  try {
    await build(body);
  } catch (error) {
    assert.ok(error instanceof HeddleError, String(error));
    assert.equal(error.code, 'VALIDATION_FAILED');
    assert.notEqual(error.batchId, undefined);
    return error.details;
  }
  assert.fail('taken');
}

const webhook = (params: Record<string, unknown> = {}): Record<string, unknown> => ({
  kind: 'Webhook',
  params: { url: 'https://example.com/', verb: 'Post', ...params },
});
const rule = (change: Record<string, unknown>): Record<string, unknown> => ({
  type: 'Concurency',
  matcher: { kind: 'work', status: 'Running', fields: [] },
  ...change,
});

describe('a submission', () => {
  test('applies the defaults', async () => {
    const { tasks } = await build([task()]);
    const { id, ...rest } = tasks[0]!;
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.partialDeepStrictEqual(rest, {
      local_id: null,
      name: 'A task',
      kind: 'work',
      timeout_secs: 3600,
      deadline_basis: 'activity',
      priority: 0,
      delay_ms: 0,
      metadata: {},
      expected_count: null,
      actions: [],
      rules: [],
      dedupe: [],
      retry: null,
      dependencies: [],
    });
  });

  test('accepts both spellings of the concurrency rule, and Running of dedupe includes claimed', async () => {
    const { tasks } = await build([
      task({
        rules: [rule({ max_concurency: 2 }), rule({ type: 'Concurrency', max_concurrency: 3 })],
        dedupe_strategy: [{ kind: 'work', status: 'Running', fields: ['a'] }],
        delay: 1.5,
        retry: { max_attempts: 4, backoff_secs: 2, factor: 3, max_backoff_secs: 60, jitter: 0 },
      }),
    ]);
    assert.deepEqual(
      tasks[0]!.rules.map(({ max }) => max),
      [2, 3],
    );
    assert.deepEqual([...tasks[0]!.dedupe[0]!.states].sort(), ['claimed', 'expanding', 'running']);
    assert.equal(tasks[0]!.delay_ms, 1500);
    assert.deepEqual(tasks[0]!.retry, { max_attempts: 4, base_ms: 2000, factor: 3, max_ms: 60_000, jitter: 0 });
  });

  test('resolves dependencies forward and backward, by index', async () => {
    const { tasks } = await build([
      task({ id: 'a', dependencies: [{ id: 'c' }] }),
      task({ dependencies: [{ id: 'a', requires_success: false }] }),
      task({ id: 'c' }),
    ]);
    assert.deepEqual(
      tasks.map(({ dependencies }) => dependencies),
      [[{ index: 2, requires_success: true }], [{ index: 0, requires_success: false }], []],
    );
  });

  const faults: [string, unknown, string[]][] = [
    ['bounds', [task({ timeout: 0 })], ['tasks[0].timeout: must be between 1 and 86400, not 0']],
    ['quotes', [task({ timeout: '60' })], ['tasks[0].timeout: must be a whole number, not "60"; remove the quotes']],
    ['unknown fields', [task({ timeuot: 1 })], ['tasks[0].timeuot: is not a known field; did you mean "timeout"?']],
    [
      'lengths',
      [task({ name: '' }), task({ name: 'x'.repeat(256), kind: 'x'.repeat(101) })],
      [
        'tasks[0].name: must have 1 to 255 characters, not 0',
        'tasks[1].name: must have 1 to 255 characters, not 256',
        'tasks[1].kind: must have 1 to 100 characters, not 101',
      ],
    ],
    [
      'metadata beyond 64 KiB',
      [task({ metadata: { a: 'ü'.repeat(32_768) } })],
      ['tasks[0].metadata: must have at most 65536 bytes as JSON, not 65544; store large data elsewhere'],
    ],
    [
      'a rule that looks at another status',
      [task({ rules: [rule({ max_concurency: 1, matcher: { kind: 'a', status: 'Pending', fields: [] } })] })],
      ['tasks[0].rules[0].matcher.status: must be Running, not "Pending"'],
    ],
    [
      'a rule without or with two maxima',
      [task({ rules: [rule({}), rule({ max_concurency: 1, max_concurrency: 1 })] })],
      [
        'tasks[0].rules[0].max_concurrency: is required (or max_concurency)',
        'tasks[0].rules[1].max_concurrency: is given in both spellings; keep one of max_concurrency, max_concurency',
      ],
    ],
    [
      'capacity without expected_count',
      [task({ rules: [rule({ type: 'Capacity', max_capacity: 5 })] })],
      ['tasks[0].expected_count: is required, because a capacity rule counts remaining work'],
    ],
    [
      'webhook addresses',
      [
        task({
          on_start: webhook({ url: 'not a url' }),
          on_success: [webhook({ url: 'ftp://x/' }), webhook({ url: 'http://blocked/' })],
        }),
        task({ on_cancel: [webhook({ url: 'https://user:pass@x/' })] }),
      ],
      [
        'tasks[0].on_start.params.url: must be an absolute URL, such as https://example.com/hook',
        'tasks[0].on_success[0].params.url: must start with http:// or https://',
        'tasks[0].on_success[1].params.url: must not lead to this host',
        'tasks[1].on_cancel[0].params.url: must not carry a user or password; send an Authorization header',
      ],
    ],
    [
      'webhook headers',
      [task({ on_start: webhook({ headers: { 'a b': 'x', Host: 'y', ok: 'a\r\nb: c', 'X-A': '1', 'x-a': '2' } }) })],
      [
        'tasks[0].on_start.params.headers["a b"]: is not a valid header name',
        'tasks[0].on_start.params.headers.Host: is set by the connection; leave it out',
        'tasks[0].on_start.params.headers.ok: must be a string of printable Latin-1 characters without line breaks, or name a secret',
        'tasks[0].on_start.params.headers.x-a: is given more than once (header names are case-insensitive); keep one',
      ],
    ],
    [
      'local ids',
      [task({ id: 'a' }), task({ id: 'a' })],
      ['tasks[1].id: is the id of tasks[0] too ("a"); ids must differ'],
    ],
    [
      'parents',
      [
        task({
          id: 'alpha',
          dependencies: [{ id: 'alhpa' }, { id: 'alpha' }, { id: 'b' }, { id: 'b', requires_success: false }],
        }),
        task({ id: 'b' }),
      ],
      [
        'tasks[0].dependencies[0].id: does not name a task of this request: "alhpa"; did you mean "alpha"?',
        'tasks[0].dependencies[1].id: names the task itself ("alpha"); remove it',
        'tasks[0].dependencies[3].id: names "b" a second time; keep one',
      ],
    ],
    [
      'a cycle, from parent to child',
      [
        task({ id: 'free' }),
        task({ id: 'a', dependencies: [{ id: 'c' }, { id: 'free' }] }),
        task({ id: 'b', dependencies: [{ id: 'a' }] }),
        task({ id: 'c', dependencies: [{ id: 'b' }] }),
        task({ id: 'after', dependencies: [{ id: 'c' }] }),
      ],
      ['tasks[1].dependencies: form a cycle: "a" -> "b" -> "c" -> "a"; remove one of them'],
    ],
    [
      'too many tasks',
      Array.from({ length: 100_001 }, () => 0),
      ['tasks: must have at most 100000 elements, not 100001; send them in several requests'],
    ],
  ];
  for (const [name, body, expected] of faults) {
    test(`reports the fault: ${name}`, async () => assert.deepEqual(await details(body), expected));
  }

  test('reports faults of several tasks at once, at most a hundred', async () => {
    const found = await details(Array.from({ length: 500 }, () => task({ timeout: -1, priority: 5000 })));
    assert.equal(found.length, 100);
    assert.match(found[99]!, /^tasks\[49\]\.priority: /);
  });

  test('a faulty parent is not reported as missing', async () => {
    assert.deepEqual(await details([task({ id: 'a', timeout: 0 }), task({ dependencies: [{ id: 'a' }] })]), [
      'tasks[0].timeout: must be between 1 and 86400, not 0',
    ]);
  });

  // Quadratic work would take minutes, and hit the deadline of the file.
  test('100,000 tasks in one chain are linked, and a cycle among them is found', async () => {
    const chain = (closed: boolean): unknown[] =>
      Array.from({ length: 100_000 }, (_, n) =>
        task({ id: `t${n}`, dependencies: n > 0 ? [{ id: `t${n - 1}` }] : closed ? [{ id: 't99999' }] : [] }),
      );
    assert.equal((await build(chain(false))).tasks.length, 100_000);
    const [cycle] = await details(chain(true));
    assert.match(cycle!, /form a cycle: "t\d+" -> "t\d+" -> .*… \(\d+ more\) -> /);
    assert.ok(cycle!.length < 1000);
  });
});
