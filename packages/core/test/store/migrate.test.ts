import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';

import type { Database } from '../../src/store/database.ts';
import { currentVersion, latestVersion, migrate, MigrationError, schemaHash } from '../../src/store/migrate.ts';
import { createTestDatabase } from '@heddle/test-support/postgres';

let directory: string;
let url: string;
let database: Database;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'heddle-sql-'));
  mkdirSync(join(directory, 'migrations'));
  mkdirSync(join(directory, 'functions'));
  migration('0001_first.sql', 'create table first (id int8 primary key);');
  migration('0002_second.sql', 'create table second (id int8 references first);\ncreate index on second (id);');
  definition('answer.sql', 'create function answer() returns int language sql as $$ select 42 $$;');
  ({ url, database } = await createTestDatabase({ empty: true }));
});

afterEach(() => rmSync(directory, { recursive: true }));

function migration(name: string, text: string): void {
  writeFileSync(join(directory, 'migrations', name), text);
}

function definition(name: string, text: string): void {
  writeFileSync(join(directory, 'functions', name), text);
}

async function answer(call = 'answer()'): Promise<unknown> {
  const [row] = await database.query<{ value: unknown }>({ name: `answer ${call}`, text: `select ${call} as value` });
  return row?.value;
}

describe('an empty database', () => {
  test('gets everything, and nothing the second time', async () => {
    assert.equal(await currentVersion(database), 0);
    const first = await migrate({ url, directory });
    assert.deepEqual(first, {
      from: 0,
      to: 2,
      applied: ['0001_first.sql', '0002_second.sql'],
      functionsReplaced: true,
    });
    assert.equal(await answer(), 42);
    assert.equal(await currentVersion(database), 2);
    assert.equal(await latestVersion(directory), 2);
    const second = await migrate({ url, directory });
    assert.deepEqual(second, { from: 2, to: 2, applied: [], functionsReplaced: false });
  });

  test('is migrated once by many at the same time', async () => {
    const results = await Promise.all(Array.from({ length: 6 }, () => migrate({ url, directory })));
    assert.equal(results.filter(({ applied }) => applied.length === 2).length, 1);
    assert.equal(results.filter(({ applied }) => applied.length === 0).length, 5);
    assert.equal(results.filter(({ functionsReplaced }) => functionsReplaced).length, 1);
  });

  test('takes the migrations of this very code', async () => {
    const { to, applied } = await migrate({ url });
    assert.equal(to, await latestVersion());
    assert.equal(applied.length, to);
    assert.equal((await migrate({ url })).functionsReplaced, false);
  });
});

describe('migrations', () => {
  test('that fail leave nothing of themselves and name their file and line', async () => {
    migration('0003_third.sql', 'create table third (id int);\n\ncreate table third (id int, wrong no_such_type);');
    await assert.rejects(migrate({ url, directory }), (error: unknown) => {
      assert.ok(error instanceof MigrationError);
      assert.match(error.message, /0003_third\.sql/);
      return true;
    });
    assert.equal(await currentVersion(database), 2);
    assert.deepEqual(await database.query({ name: 'third', text: `select to_regclass('heddle.third') as found` }), [
      { found: null },
    ]);
    migration('0003_third.sql', 'create table third (id int);\nselect no_such_column;');
    await assert.rejects(migrate({ url, directory }), /0003_third\.sql:2: column "no_such_column" does not exist/);
    migration('0003_third.sql', 'create table third (id int);');
    assert.deepEqual((await migrate({ url, directory })).applied, ['0003_third.sql']);
  });

  test('are refused when they were changed after they had been applied', async () => {
    await migrate({ url, directory });
    migration('0001_first.sql', 'create table first (id int primary key);');
    await assert.rejects(migrate({ url, directory }), /0001_first\.sql was changed after/);
  });

  test('are the same with other line ends', async () => {
    await migrate({ url, directory });
    migration('0002_second.sql', 'create table second (id int8 references first);\r\ncreate index on second (id);');
    assert.deepEqual((await migrate({ url, directory })).applied, []);
  });

  test('are refused when the database is newer, with the remedy', async () => {
    await migrate({ url, directory });
    rmSync(join(directory, 'migrations', '0002_second.sql'));
    await assert.rejects(migrate({ url, directory }), /version 2 .*knows versions up to 1.*at least as new.*backup/s);
  });

  test('must be numbered without gaps', async () => {
    migration('0004_fourth.sql', '');
    await assert.rejects(migrate({ url, directory }), /0004_fourth\.sql is out of place: number 3/);
  });
});

describe('functions', () => {
  test('are replaced when a file changes, and old overloads go', async () => {
    await migrate({ url, directory });
    const hash = await schemaHash(directory);
    definition(
      'answer.sql',
      'create function answer(plus int default 1) returns text language sql as $$ select (42 + plus)::text $$;',
    );
    assert.notEqual(await schemaHash(directory), hash);
    assert.equal((await migrate({ url, directory })).functionsReplaced, true);
    assert.equal(await answer(), '43');
    rmSync(join(directory, 'functions', 'answer.sql'));
    assert.equal((await migrate({ url, directory })).functionsReplaced, true);
    await assert.rejects(answer('answer( )'), { code: '42883' });
  });

  test('that a table needs stay and are replaced in place', async () => {
    definition('answer.sql', 'create or replace function answer() returns int language sql as $$ select 42 $$;');
    await migrate({ url, directory });
    migration('0003_third.sql', 'create table third (id int default answer());');
    definition('answer.sql', 'create or replace function answer() returns int language sql as $$ select 43 $$;');
    await migrate({ url, directory });
    assert.equal(await answer(), 43);
  });

  test('that are wrong leave the old ones in force', async () => {
    await migrate({ url, directory });
    definition('answer.sql', 'create function answer() returns int language sql as $$ select nothing $$;');
    await assert.rejects(migrate({ url, directory }), /functions\/answer\.sql/);
    assert.equal(await answer(), 42);
  });
});
