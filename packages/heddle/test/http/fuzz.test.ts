/**
 * Invalid input on every route that takes a body: always a 4xx that names a field, never a 5xx, and nothing is stored.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import fc from 'fast-check';

import { createEngine } from '@heddle/core/engine/engine';
import type { Engine } from '@heddle/core/engine/port';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';
import { DefinitionStore } from '@heddle/core/store/definitions';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, task, type Problem, type TestServer } from '@heddle/test-support/http/server';

const RUNS = 250;
const COUNT = {
  name: 'test.count',
  text: 'select (select count(*) from task) + (select count(*) from container) + (select count(*) from definition) as n',
};

let server: TestServer;
let engine: Engine;
let database: Database;
let taskUrl: string;

before(async () => {
  ({ database } = await createTestDatabase());
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
  const definitions = new DefinitionStore({ database, clock: systemClock });
  server = await createTestServer({ engine, database, definitions });
  const created = await server.app.inject({ method: 'POST', url: '/task', payload: [task()] });
  taskUrl = `/task/${created.json<{ id: string }[]>()[0]!.id}`;
});

after(async () => {
  await server.app.close();
  await engine.close();
});

/** JSON text in parts, for what no JavaScript value can express: repeated keys, huge numbers, raw escapes. */
type Text = string;

const badNumber = fc.constantFrom<Text>(
  '1e400',
  '-1e999',
  '9007199254740993',
  '123456789012345678901234567890',
  '1e17',
);
const badString = fc.constantFrom<Text>('"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"x\\udc00y"', '"\\udfff\\ud800"');
const scalar = fc.oneof(
  fc.constantFrom<Text>('null', 'true', 'false', '0', '-1', '1.5', '""', '[]', '{}', '"Zufall"'),
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => JSON.stringify(text)),
  badNumber,
  badString,
);
const key = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'length', '', 'naem', 'name '),
  fc.string({ maxLength: 12 }),
);
const anything: fc.Arbitrary<Text> = fc.letrec<{ value: Text }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }).map((values) => `[${values.join(',')}]`),
    fc
      .array(fc.tuple(key, tie('value')), { maxLength: 4 })
      .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`),
  ),
})).value;
const deep = fc
  .tuple(fc.constantFrom<[string, string]>(['[', ']'], ['{"a":', '}']), fc.integer({ min: 65, max: 3000 }))
  .map(([[open, close], depth]) => `${open.repeat(depth)}1${close.repeat(depth)}`);

/** A value that is invalid for this field, whatever else the field allows. */
function refusedBy(accepts: (value: unknown) => boolean): fc.Arbitrary<Text> {
  const wrong = anything.filter((text) => {
    try {
      return !accepts(JSON.parse(text));
    } catch {
      return true;
    }
  });
  return fc.oneof({ weight: 4, arbitrary: wrong }, { weight: 1, arbitrary: deep }, { weight: 1, arbitrary: badNumber });
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isNumber = (value: unknown): boolean => typeof value === 'number';
const isList = (value: unknown): boolean => Array.isArray(value);
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !isList(value);

/** Fields of a task, with values that are certainly invalid for each. */
const TASK_FIELDS: Record<string, fc.Arbitrary<Text>> = {
  id: refusedBy(isText),
  name: refusedBy(isText),
  kind: refusedBy(isText),
  timeout: fc.oneof(refusedBy(isNumber), fc.constantFrom('0', '-5', '86401', '1.5', '"60"')),
  metadata: fc.oneof(
    refusedBy(isObject),
    fc.oneof(badNumber, badString, deep).map((text) => `{"inner":[{"value":${text}}]}`),
    badString.map((text) => `{${text}:1}`),
    fc.tuple(anything, anything).map(([one, two]) => `{"twice":${one},"other":0,"twice":${two}}`),
    anything.map((text) => `{"__proto__":${text}}`),
  ),
  on_start: refusedBy((value) => isObject(value) && Object.keys(value as object).length > 0),
  on_success: refusedBy(isList),
  dependencies: fc.oneof(refusedBy(isList), fc.constantFrom('[{"id":"nobody"}]', '[{}]', '[7]', '[{"id":"me"}]')),
  rules: fc.oneof(
    refusedBy(isList),
    fc.constantFrom(
      '[{}]',
      '[{"type":"Speed"}]',
      '[{"type":"Capacity","max_capacity":1}]',
      '[null]',
      '[{"ref":"none"}]',
    ),
  ),
  dedupe_strategy: fc.oneof(refusedBy(isList), fc.constantFrom('[{}]', '[{"kind":"a","status":"Gone","fields":[]}]')),
  expected_count: fc.oneof(refusedBy(isNumber), fc.constantFrom('-1', '2147483648')),
  priority: fc.oneof(refusedBy(isNumber), fc.constantFrom('1001', '-1001', '0.5')),
  delay: fc.oneof(refusedBy(isNumber), fc.constantFrom('-1', '1e15')),
  retry: fc.oneof(refusedBy(isObject), fc.constantFrom('{}', '{"max_attempts":0}', '{"max_attempts":1,"jitter":2}')),
};

/** A valid task with one invalid, unknown, or repeated field. */
const badTask: fc.Arbitrary<Text> = fc.oneof(
  fc.constantFrom(...Object.keys(TASK_FIELDS)).chain((field) =>
    TASK_FIELDS[field]!.map((text) => {
      const valid: Record<string, Text> = { id: '"me"', name: '"n"', kind: '"k"', [field]: text };
      return objectText(Object.entries(valid));
    }),
  ),
  fc
    .tuple(
      key.filter((name) => !Object.hasOwn(TASK_FIELDS, name)),
      anything,
    )
    .map(([name, text]) =>
      objectText([
        ['name', '"n"'],
        ['kind', '"k"'],
        [name, text],
      ]),
    ),
  fc.tuple(fc.constantFrom('name', 'kind', 'metadata', 'timeout'), anything).map(([name, text]) =>
    objectText([
      ['name', '"n"'],
      ['kind', '"k"'],
      ['metadata', '{}'],
      ['timeout', '1'],
      [name, text],
    ]),
  ),
);

function objectText(members: [string, Text][]): Text {
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

const valid = '{"name":"n","kind":"k"}';
const badSubmission = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(badTask, fc.boolean())
      .map(([bad, first]) => (first ? `[${bad},${valid}]` : `[${valid},${bad}]`)),
  },
  { weight: 1, arbitrary: refusedBy(isList) },
  { weight: 1, arbitrary: anything.map((text) => `${text}]`) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }).filter((text) => text.trim() !== '' && !isJson(text)) },
);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const badMembers = (fields: Record<string, fc.Arbitrary<Text>>): fc.Arbitrary<Text> =>
  fc.oneof(
    fc.constantFrom(...Object.keys(fields)).chain((field) => fields[field]!.map((text) => objectText([[field, text]]))),
    fc
      .tuple(
        key.filter((name) => !Object.hasOwn(fields, name)),
        anything,
      )
      .map((member) => objectText([member])),
    fc.constantFrom(...Object.keys(fields)).map((field) =>
      objectText([
        [field, '1'],
        [field, '1'],
      ]),
    ),
    refusedBy(isObject),
    fc.constant('{}'),
  );

const count = fc.oneof(refusedBy(isNumber), fc.constantFrom('-1', '2147483648', '0.5'));
const badUpdate = badMembers({
  status: fc.oneof(
    refusedBy(() => false),
    fc.constantFrom('"Running"', '"success"', '"Failure"', '"Pending"'),
  ),
  new_success: count,
  new_failures: count,
  metadata: TASK_FIELDS.metadata!,
  failure_reason: fc.oneof(
    refusedBy(() => false),
    fc.constant('"without a status"'),
  ),
  attempt: fc.oneof(
    refusedBy(() => false),
    fc.constant('1'),
  ),
});
const badProgress = badMembers({ new_success: fc.oneof(count, fc.constant('0')), new_failures: count });
const badRule = badMembers({ type: anything, matcher: anything, max_concurency: anything, max_capacity: anything });
const badHold = badMembers({ requirements: anything, id: anything, holder: anything, wait_secs: anything });
const badProvision = badMembers({ requirements: anything, id: anything });
const badAction = badMembers({ kind: anything, params: anything, trigger: anything });

/** A null member counts as absent. */
const orNull =
  (accepts: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === null || accepts(value);

/** Members of a task of a workflow, with values that are certainly invalid for each. */
const NODE_FIELDS: Record<string, fc.Arbitrary<Text>> = {
  id: refusedBy(orNull(isText)),
  kind: refusedBy(isText),
  name: refusedBy(orNull(isText)),
  input: fc.oneof(
    refusedBy(orNull(isObject)),
    fc.oneof(badNumber, badString, deep).map((text) => `{"inner":[${text}]}`),
  ),
  policy: refusedBy(orNull(() => false)),
  timeout_secs: fc.oneof(refusedBy(orNull(isNumber)), fc.constantFrom('0', '-5', '86401', '1.5', '"60"')),
  disabled: refusedBy(orNull((value) => typeof value === 'boolean')),
  generator: refusedBy(orNull((value) => typeof value === 'boolean')),
  retry: fc.oneof(refusedBy(orNull(isObject)), fc.constantFrom('{}', '{"max_attempts":0}', '{"max_attempts":2,"x":1}')),
  children: anything.map((text) => `[${text}]`),
  on_start: refusedBy(orNull(() => false)),
};
const badNode = fc
  .constantFrom(...Object.keys(NODE_FIELDS))
  .chain((name) => NODE_FIELDS[name]!.map((text) => `{${name === 'kind' ? '' : '"kind":"a",'}"${name}":${text}}`));
const badTree = fc.oneof(
  anything,
  badNode,
  badNode.map((node) => `{"mode":"parallel","children":[{"kind":"a"},{"mode":"sequential","children":[${node}]}]}`),
  anything.map((text) => `{"mode":${text},"children":[]}`),
  refusedBy(isList).map((text) => `{"mode":"parallel","children":${text}}`),
  fc.constantFrom('{"mode":"parallel","children":[{"id":"a","kind":"k"},{"id":"a","kind":"k"}]}', '{"kind":"a"}'),
);
const badWorkflow = fc.oneof(
  anything,
  badTree.map((root) => `{"root":${root}}`),
);

async function countStored(): Promise<number> {
  const [row] = await database.query<{ n: number }>(COUNT);
  return row!.n;
}

async function assertRefused(method: 'POST' | 'PATCH' | 'PUT', url: string, payload: string): Promise<void> {
  const response = await server.app.inject({ method, url, payload, headers: { 'content-type': 'application/json' } });
  const { statusCode } = response;
  assert.ok(statusCode >= 400 && statusCode < 500, `${statusCode} for ${payload.slice(0, 500)}: ${response.body}`);
  assert.match(String(response.headers['content-type']), /^application\/problem\+json/);
  const problem = response.json<Problem>();
  assert.ok(problem.details.length > 0 && problem.details.length <= 100, `no details for ${payload.slice(0, 500)}`);
  for (const detail of problem.details) {
    assert.match(
      detail,
      /^(tasks\[\d+\]|body|[A-Za-z_$[])[^]*?: \S/,
      `names no field: ${detail} for ${payload.slice(0, 500)}`,
    );
  }
}

describe('invalid input is rejected by name and leaves nothing behind', () => {
  const routes: [string, 'POST' | 'PATCH' | 'PUT', () => string, fc.Arbitrary<Text>][] = [
    ['POST /task', 'POST', () => '/task', badSubmission],
    ['POST /v1/workflows', 'POST', () => '/v1/workflows', badWorkflow],
    ['PATCH /task/{id}', 'PATCH', () => taskUrl, badUpdate],
    ['PUT /task/{id}', 'PUT', () => taskUrl, badProgress],
    ['POST /v1/pool/requests', 'POST', () => '/v1/pool/requests', badHold],
    ['POST /v1/pool/provision', 'POST', () => '/v1/pool/provision', badProvision],
    ['PUT /v1/rules/{name}', 'PUT', () => '/v1/rules/fuzz', badRule],
    ['PUT /v1/actions/{name}', 'PUT', () => '/v1/actions/fuzz', badAction],
  ];
  for (const [name, method, url, bodies] of routes) {
    test(name, async () => {
      const [before_, was] = [await countStored(), (await server.app.inject(taskUrl)).body];
      await fc.assert(
        fc.asyncProperty(bodies, (body) => assertRefused(method, url(), body)),
        { numRuns: RUNS },
      );
      assert.equal(await countStored(), before_);
      assert.equal((await server.app.inject(taskUrl)).body, was);
    });
  }

  test('query strings', async () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom(
        '\0',
        'a\0b',
        '-1',
        '1.5',
        '1e3',
        '99999999999999999999',
        'NaN',
        '[]',
        '{',
        '{"a":1e999}',
        '\ufffd',
      ),
    );
    const parameter = fc.constantFrom(
      'page',
      'page_size',
      'status',
      'kind',
      'name',
      'batch_id',
      'metadata',
      'unknown',
      '__proto__',
    );
    const url = fc.constantFrom(
      '/task',
      '/v1/batches',
      '/v1/webhooks',
      '/v1/workflows',
      taskUrl,
      '/dag/x',
      '/v1/rules',
    );
    await fc.assert(
      fc.asyncProperty(
        url,
        fc.array(fc.tuple(parameter, value), { minLength: 1, maxLength: 3 }),
        async (path, pairs) => {
          const query = pairs.map(([name, text]) => `${name}=${encodeURIComponent(text.toWellFormed())}`).join('&');
          const response = await server.app.inject(`${path}?${query}`);
          assert.ok(response.statusCode < 500, `${response.statusCode} for ${path}?${query}: ${response.body}`);
          if (response.statusCode >= 400) assert.ok(response.json<Problem>().details.length > 0);
        },
      ),
      { numRuns: RUNS },
    );
  });
});
