/** The directory of kinds: what they do, their inputs, and who runs them. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';

import { HeddleApiError, HeddleClient } from '@heddle/client';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { BUILT_IN_KINDS } from '@heddle/core/internal/domain/built-in-kinds';
import { createEngine } from '@heddle/core/engine/engine';
import { createKindDirectory } from '@heddle/core/engine/kinds/directory';
import type { Engine } from '@heddle/core/engine/port';
import type { Database } from '@heddle/core/store/database';
import { defineKind, type KindDefinition } from '@heddle/kit';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { ServerKinds } from '../../src/app/server-kinds.ts';
import { describeKind } from '../../src/dispatch/kind/describe-kind.ts';
import { commandSchema } from '../../src/kinds/command/input.ts';

let server: TestServer;
let engine: Engine;
let client: HeddleClient;
let database: Database;
let catalog: ServerKinds;

const run = (): null => null;
const resize = defineKind({
  name: 'kinds.resize',
  description: 'Resizes an image.',
  input: z.object({ width: z.number().int().min(1), name: z.string().optional() }),
  run,
});
/** Run by another process, so that this server knows its schema from the database alone. */
const elsewhere = defineKind({
  name: 'kinds.elsewhere',
  input_schema: { type: 'object', properties: { size: { type: 'integer' } }, required: ['size'] },
  run,
});

before(async () => {
  ({ database } = await createTestDatabase());
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
  const directory = createKindDirectory({ database });
  catalog = new ServerKinds(directory);
  await catalog.add([resize, defineKind({ name: 'Command', input: commandSchema, run })]);
  await directory.describe([describeKind(elsewhere)]);
  server = await createTestServer({ engine, database, kinds: catalog });
  const baseUrl = await server.app.listen({ port: 0, host: '127.0.0.1' });
  client = new HeddleClient({ baseUrl });
});

after(async () => {
  await server.app.close();
  await engine.close();
});

describe('kinds', () => {
  test('are listed by name, page by page: built-in ones, described ones, and those of tasks', async () => {
    await client.submit([{ name: 'n', kind: 'kinds.unknown' }]);
    const all = await client.kinds.list();
    const names = all.map(({ name }) => name);
    for (const name of [...BUILT_IN_KINDS, 'kinds.resize', 'kinds.unknown']) assert.ok(names.includes(name), name);
    assert.equal(new Set(names).size, names.length);
    const paged: string[] = [];
    for (let after = ''; ;) {
      const page = await client.kinds.list({ page_size: 7, ...(after === '' ? {} : { after }) });
      paged.push(...page.map(({ name }) => name));
      if (page.length < 7) break;
      after = page.at(-1)!.name;
    }
    assert.deepEqual(paged, names);
    for (const kind of all.filter(({ built_in }) => built_in)) assert.match(kind.description!, /\.$/, kind.name);
  });

  test('have the schema of their library, of their definition, or of what they read', async () => {
    const { description, input_schema, built_in } = await client.kinds.get('kinds.resize');
    assert.deepEqual([description, built_in], ['Resizes an image.', false]);
    assert.deepEqual((input_schema as { required: string[] }).required, ['width']);
    assert.deepEqual((await client.kinds.get('kinds.elsewhere')).input_schema, elsewhere.input_schema);
    const command = (await client.kinds.get('Command')).input_schema as { properties: Record<string, unknown> };
    assert.deepEqual(command.properties['network'], { type: 'boolean' });
    const { argv, env, files, success_exit_codes } = command.properties as Record<string, Record<string, unknown>>;
    assert.deepEqual(argv!['items'], { type: 'string', minLength: 1, maxLength: 100_000 });
    assert.deepEqual(env!['additionalProperties'], { type: 'string' });
    assert.equal((files!['additionalProperties'] as { anyOf: unknown[] }).anyOf.length, 2);
    assert.deepEqual(success_exit_codes!['items'], { type: 'integer', minimum: 0, maximum: 255 });
    assert.deepEqual((await client.kinds.get('Conditional')).input_schema, null);
  });

  test('count the workers seen within a minute', async () => {
    assert.deepEqual((await client.kinds.get('kinds.resize')).workers, 0);
    await engine.claim({ lanes: ['kind:kinds.resize'], limit: 1, holder: 'one' });
    await engine.claim({ lanes: ['kind:kinds.resize'], limit: 1, holder: 'two' });
    const { workers, last_seen_at } = await client.kinds.get('kinds.resize');
    assert.equal(workers, 2);
    assert.ok(Date.parse(last_seen_at!) > Date.now() - 600_000);
  });

  test('are described again only if something changed', async () => {
    const updatedAt = async (): Promise<string> => {
      const text = `select d.updated_at::text as at from kind_description d join kind k on k.id = d.kind_id where k.name = $1`;
      const [row] = await database.query<{ at: string }>({ name: 'test_updated_at', text }, ['kinds.resize']);
      return row!.at;
    };
    const first = await updatedAt();
    await catalog.add([resize]);
    assert.equal(await updatedAt(), first);
    await catalog.add([defineKind({ name: 'kinds.resize', description: 'Another.', run })]);
    assert.notEqual(await updatedAt(), first);
    await catalog.add([resize]);
  });

  test('that no worker and no task has are not found', async () => {
    await assert.rejects(client.kinds.get('kinds.nobody'), (error) => {
      assert.ok(error instanceof HeddleApiError);
      assert.match(error.message, /name: no worker and no task has the kind kinds\.nobody/);
      return error.status === 404;
    });
  });

  test('too large schemas are left out', () => {
    const input_schema = { type: 'object', description: 'x'.repeat(70_000) };
    assert.equal(describeKind(defineKind({ name: 'k', input_schema, run }) as KindDefinition).input_schema, null);
  });

  test('check inputs of a new run, by their own schema or by that in the database', async () => {
    const { batchId } = await client.submit([
      { id: 'one', name: 'one', kind: 'kinds.resize', metadata: { width: 1 } },
      { id: 'two', name: 'two', kind: 'kinds.elsewhere', metadata: { size: 1 } },
      { id: 'three', name: 'three', kind: 'Command', metadata: { run: 'true' } },
    ]);
    const inputs = { one: { width: 0 }, two: { size: 'large' }, three: { run: 'true', stdin: { secret: 'KEY' } } };
    await assert.rejects(client.operations.rerun(batchId!, { inputs }), (error) => {
      assert.ok(error instanceof HeddleApiError);
      assert.match(error.message, /inputs\.one\.width: Too small/);
      assert.match(error.message, /inputs\.two\.size: must be integer/);
      assert.doesNotMatch(error.message, /inputs\.three/);
      return error.status === 400;
    });
  });
});
