import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkAmbient } from '../support/tidy/ambient.ts';
import { checkDocumented, checkImported } from '../support/tidy/dependencies.ts';
import { checkCycles, checkDoors, checkRooms, importsOf } from '../support/tidy/imports.ts';
import { checkNames } from '../support/tidy/names.ts';
import { ROOMS } from '../support/tidy/rooms.ts';
import { checkSize } from '../support/tidy/size.ts';
import { type Finding, format, type SourceText } from '../support/tidy/source.ts';
import { checkSqlCodes, checkSqlFunctions } from '../support/tidy/sql.ts';
import { checkStatements } from '../support/tidy/statements.ts';
import { checkTestFiles, checkTests } from '../support/tidy/tests.ts';
import { checkWording } from '../support/tidy/wording.ts';

const file = (path: string, text: string): SourceText => ({ path, text });

/** Lines at which a check of one file speaks up. */
function lines(findings: readonly Finding[]): number[] {
  return findings.map((finding) => finding.line);
}

describe('rooms', () => {
  const check = (path: string, text: string): Finding[] => checkRooms([file(path, text)], ROOMS);

  test('an upward arrow is refused, whatever its form', () => {
    for (const text of [
      `import { x } from '../engine/submit.ts';`,
      `import type { X } from '../engine/submit.ts';`,
      `export * from '../engine/submit.ts';`,
      `import '../engine/submit.ts';`,
      `const x = await import('../engine/submit.ts');`,
      `let x: import('../engine/submit.ts').X;`,
    ]) {
      const findings = check('packages/core/src/store/tasks.ts', `\n${text}\n`);
      assert.deepEqual(lines(findings), [2], text);
      assert.match(
        findings[0]?.message ?? '',
        /store may not import engine .*may import: vocabulary, base, domain, metrics\./,
      );
    }
  });

  test('a downward arrow and one within the room pass', () => {
    assert.deepEqual(
      check('packages/core/src/engine/submit.ts', `import { x } from '../store/tasks.ts';\nimport './port.ts';`),
      [],
    );
  });

  const WORKER = 'packages/heddle/src/dispatch/worker.ts';
  test('dispatch sees the port of the engine and no more of it', () => {
    assert.deepEqual(check(WORKER, `import type { Engine } from '@heddle/core/engine/port';`), []);
    assert.equal(check(WORKER, `import type { Engine } from '@heddle/core/engine/submit';`).length, 1);
  });

  test('the client imports nothing', () => {
    assert.deepEqual(check('packages/client/src/client.ts', `import { T } from './transport.ts';`), []);
    assert.equal(check('packages/client/src/client.ts', `import type { X } from '@heddle/base/errors';`).length, 1);
    assert.equal(check('packages/client/src/client.ts', `import 'node:fs';`).length, 1);
  });

  test('the inner files of another package are for tests', () => {
    const inner = file('packages/heddle/src/app/up.ts', `import { x } from '@heddle/core/internal/engine/submit';`);
    assert.equal(checkDoors([inner]).length, 1);
    assert.deepEqual(checkDoors([file('packages/heddle/src/app/up.ts', `import '@heddle/core/engine/port';`)]), []);
  });

  test('the domain imports nothing, not even of Node', () => {
    assert.equal(check('packages/core/src/domain/ids.ts', `import { createHash } from 'node:crypto';`).length, 1);
    assert.equal(check('packages/core/src/domain/ids.ts', `import fastify from 'fastify';`).length, 1);
    assert.deepEqual(check('packages/core/src/domain/ids.ts', `import { x } from './json.ts';`), []);
    assert.deepEqual(check('packages/core/src/domain/ids.ts', `import { x } from '@heddle/base/errors';`), []);
    assert.equal(check('packages/core/src/domain/ids.ts', `import { x } from '@heddle/base/clock';`).length, 1);
  });

  test('app imports every room but the command line, which alone imports it', () => {
    assert.deepEqual(
      check('packages/heddle/src/app/up.ts', `import '@heddle/core/engine/a';\nimport '../http/a.ts';`),
      [],
    );
    assert.equal(check('packages/heddle/src/app/up.ts', `import '../cli/main.ts';`).length, 1);
    assert.deepEqual(check('packages/heddle/src/cli/main.ts', `import '../app/up.ts';`), []);
    assert.equal(check('packages/heddle/src/http/server.ts', `import '../app/up.ts';`).length, 1);
  });

  test('no file outside a room, and no import out of the house', () => {
    assert.equal(check('packages/core/src/main.ts', '').length, 1);
    assert.deepEqual(check('packages/kit/src/index.ts', ''), []);
    assert.equal(check('packages/core/src/attic/x.ts', '').length, 1);
    assert.equal(check('packages/heddle/src/app/up.ts', `import '@heddle/test-support/postgres';`).length, 1);
  });

  test('every arrow of the table leads to a room that exists in it', () => {
    const names = new Set([...Object.keys(ROOMS), '*']);
    for (const [name, room] of Object.entries(ROOMS))
      for (const entry of [...room.imports, ...(room.except ?? [])])
        assert.ok(names.has(entry.split('/')[0] ?? ''), `${name} -> ${entry}`);
  });

  test('the table itself has no cycle', () => {
    const order = Object.keys(ROOMS);
    for (const [name, room] of Object.entries(ROOMS))
      for (const entry of room.imports.filter((e) => e !== '*' && name !== 'cli')) {
        assert.ok(order.indexOf(entry.split('/')[0] ?? '') < order.indexOf(name), `${name} -> ${entry}`);
      }
  });
});

describe('cycles', () => {
  test('a cycle is found and told whole', () => {
    const findings = checkCycles([
      file('src/a/x.ts', `import './y.ts';`),
      file('src/a/y.ts', `\nimport { z } from '../b/z.ts';`),
      file('src/b/z.ts', `export * from '../a/x.ts';`),
    ]);
    assert.equal(findings.length, 1);
    assert.match(
      format(findings),
      /^src\/b\/z\.ts:1 .*src\/a\/x\.ts -> src\/a\/y\.ts -> src\/b\/z\.ts -> src\/a\/x\.ts;/,
    );
  });

  test('a file that imports itself, and a lazy import, close one too', () => {
    assert.equal(checkCycles([file('src/a/x.ts', `import './x.ts';`)]).length, 1);
    const lazy = [file('src/a/x.ts', `import './y.ts';`), file('src/a/y.ts', `void import('./x.ts');`)];
    assert.equal(checkCycles(lazy).length, 1);
  });

  test('type imports close none, and a diamond is none', () => {
    const typed = [file('src/a/x.ts', `import './y.ts';`), file('src/a/y.ts', `import type { X } from './x.ts';`)];
    assert.deepEqual(checkCycles(typed), []);
    const diamond = [
      file('src/a/top.ts', `import './left.ts';\nimport './right.ts';`),
      file('src/a/left.ts', `import './bottom.ts';`),
      file('src/a/right.ts', `import './bottom.ts';`),
      file('src/a/bottom.ts', ''),
    ];
    assert.deepEqual(checkCycles(diamond), []);
  });

  test('imports inside strings and comments are none', () => {
    assert.deepEqual(importsOf(file('src/a/x.ts', `// import './y.ts';\nconst s = "import './y.ts'";`)), []);
  });
});

describe('codes in SQL', () => {
  const inFunction = (text: string): Finding[] => checkSqlCodes([file('src/store/sql/functions/claim.sql', text)]);
  const inStatement = (sql: string): Finding[] => checkSqlCodes([file('src/store/x.ts', `\nconst x = \`${sql}\`;`)]);

  for (const sql of [
    'select id from task where state = 1',
    'select id from task t where (t.state + 0) < 10',
    'select id from task t where t.paused_from in (2, 3)',
    'select 10 = all(p_to)',
    'select case p_state when 14 then null end',
    'select 3::smallint',
    'select id from ready where lane < 0',
    'update task set state = 5',
  ])
    test(`refuses ${sql}`, () => {
      assert.deepEqual(lines(inFunction(`\n${sql}`)), [2]);
      assert.deepEqual(lines(inStatement(sql)), [2]);
    });

  test('names, parameters, other numbers, literals and comments pass', () => {
    const sql = `select 'state = 1', $3::smallint[], tries = 0 from task where state = :pending and (state + 0) = any($1)`;
    assert.deepEqual(inFunction(`-- state = 1\n${sql}`), []);
    assert.deepEqual(inStatement(sql), []);
  });
});

describe('functions in SQL', () => {
  const check = (text: string): Finding[] => checkSqlFunctions([file('src/store/sql/functions/claim.sql', text)]);
  const define = (parameters: string, lines: number): string =>
    `create or replace function f(${parameters})\nreturns void language sql as $$\n${'select 1;\n'.repeat(lines)}$$;\n`;

  test('a comment at the head, 80 lines and eight parameters pass', () => {
    const eight = Array.from({ length: 8 }, (_, n) => `p_${n} integer`).join(', ');
    assert.deepEqual(check(`-- Claims tasks.\n\n${define(`${eight}, out o_more integer`, 77)}`), []);
  });

  test('a file without one, a longer function and a ninth parameter are refused', () => {
    const nine = Array.from({ length: 9 }, (_, n) => `p_${n} integer`).join(', ');
    assert.deepEqual(lines(check(define('', 1))), [1]);
    assert.deepEqual(lines(check(`-- Claims tasks.\n\n${define('p integer', 78)}`)), [3]);
    assert.deepEqual(lines(check(`-- Claims tasks.\n\n${define(nine, 1)}`)), [3]);
  });
});

describe('ambient', () => {
  const check = (text: string, path = 'packages/core/src/engine/x.ts'): Finding[] => checkAmbient([file(path, text)]);

  for (const text of [
    'const x = Date.now();',
    "const x = Date['now']();",
    'const f = Date.now;',
    'const { now } = Date;',
    'const x = new Date();',
    'const x = new Date;',
    'const x = Date();',
    'const x = performance.now();',
    'const x = globalThis.performance.now();',
    "import { performance } from 'node:perf_hooks';",
    'const x = process.hrtime.bigint();',
    'const x = Math.random();',
    'const x = crypto.randomUUID();',
    "import { randomBytes } from 'node:crypto';",
    "import { randomUUID as id } from 'node:crypto';",
    'crypto.getRandomValues(bytes);',
    'randomFillSync(bytes);',
    'const x = process.env.HOME;',
    'const { env } = process;',
    "import { env } from 'node:process';",
    'setTimeout(run, 5);',
    'const timer = setInterval;',
    'start({ schedule: setImmediate });',
    'globalThis.setTimeout(run, 5);',
    "import { setTimeout as sleep } from 'node:timers/promises';",
    "import timers from 'timers';",
    'const signal = AbortSignal.timeout(5);',
  ])
    test(`refused: ${text}`, () => {
      assert.deepEqual(lines(check(`\n${text}`)), [2]);
    });

  for (const text of [
    'const x = new Date(ms);',
    'const x = clock.now();',
    'socket.setTimeout(5);',
    'interface C { now(): number; setTimeout: number }',
    'function id(randomBytes: Uint8Array) { return randomBytes[0]; }',
    'const options = { env: given };',
    '// Date.now()',
    "const s = 'Math.random()';",
  ])
    test(`passes: ${text}`, () => {
      assert.deepEqual(check(text), []);
    });

  test('base, app and the entry of the process may', () => {
    for (const path of [
      'packages/base/src/clock.ts',
      'packages/heddle/src/app/configuration.ts',
      'packages/heddle/src/cli/main.ts',
    ])
      assert.deepEqual(check('Date.now(); process.env.X;', path), []);
    assert.equal(check('process.env.X;', 'packages/heddle/src/cli/batch.ts').length, 1);
  });
});

describe('size', () => {
  const body = (count: number): string => 'x();\n'.repeat(count);

  test('a file of 400 lines passes, 401 do not', () => {
    assert.deepEqual(checkSize([file('packages/a/src/x.ts', body(400))]), []);
    assert.match(
      format(checkSize([file('packages/a/src/x.ts', body(401))])),
      /has 401 lines, the limit is 400; .* 300/,
    );
    assert.equal(checkSize([file('packages/core/src/store/sql/x.sql', 'select 1;\n'.repeat(401))]).length, 1);
  });

  test('a function of 80 lines passes, 81 do not, in every form', () => {
    for (const [open, close] of [
      ['function run() {\n', '}'],
      ['const run = () => {\n', '};'],
      ['const run = async function () {\n', '};'],
      ['class C { run() {\n', '} }'],
      ['class C { constructor() {\n', '} }'],
      ['const o = { run() {\n', '} };'],
    ] as const) {
      assert.deepEqual(checkSize([file('packages/a/src/x.ts', open + body(78) + close)]), [], open);
      assert.equal(checkSize([file('packages/a/src/x.ts', open + body(79) + close)]).length, 1, open);
    }
    assert.match(
      format(checkSize([file('packages/a/src/x.ts', `\nfunction run() {\n${body(79)}}`)])),
      /x\.ts:2 run has 81 lines/,
    );
  });

  test('a docblock does not count', () => {
    assert.deepEqual(
      checkSize([file('packages/a/src/x.ts', `/**\n${' * x\n'.repeat(50)} */\nfunction f() {\n${body(70)}}`)]),
      [],
    );
  });
});

describe('names', () => {
  test('drawers are refused, in every spelling', () => {
    const drawers = [
      'src/a/util.ts',
      'src/a/string-utils.ts',
      'test/helpers/x.ts',
      'src/a/testHelper.ts',
      'web/common/x.ts',
      'src/misc.ts',
    ];
    for (const path of drawers) assert.equal(checkNames([path]).length, 1, path);
  });

  test('words that merely hold one pass', () => {
    assert.deepEqual(checkNames(['src/a/utilization.ts', 'src/a/commonality.ts', 'test/support/postgres.ts']), []);
  });
});

describe('wording', () => {
  const check = (text: string): number[] => lines(checkWording([file('docs/x.md', text)]));
  // Put together here too, since this file is one of those that are checked.
  const folder = ['sha', 'red'].join('');

  test('traces of the workshop are refused', () => {
    const traces = [
      `see ../${folder}/x`,
      `the ${folder}/design folder`,
      ['cd ', 'work', 'main'].join('/'),
      `001_${'0a'.repeat(8)}.txt`,
      ['se', 'ed 001'].join(''),
      ['another hel', 'per'].join(''),
      ['Cla', 'ude'].join(''),
      ['sub', 'agents'].join(''),
    ];
    for (const trace of traces) assert.deepEqual(check(`fine\n${trace}`), [2], trace);
  });

  test('the words of the trade pass', () => {
    const text = `a seeded generator, ${folder} memory, a session of PostgreSQL, the work queue, seeds: 42`;
    assert.deepEqual(check(text), []);
  });
});

test('code in a test folder is a test or lies in its support folder', () => {
  const paths = ['test/a.ts', 'packages/core/test/queue/b.js', 'test/web/c.test.ts', 'packages/core/test/support/d.ts'];
  const stray = checkTestFiles([...paths, 'packages/core/src/test/e.ts', 'test/data.json']).map(({ path }) => path);
  assert.deepEqual(stray, paths.slice(0, 2));
});

describe('tests', () => {
  const check = (text: string): number[] => lines(checkTests([file('test/x.test.ts', text)]));

  for (const text of [
    'await sleep(50);',
    'setTimeout(done, 1_000);',
    'await setTimeout(5 * 1000);',
    'await systemClock.sleep(20);',
    'test.only("x", () => {});',
    'describe.skip("x", () => {});',
    'it.todo("x");',
    'test("x", { only: true }, () => {});',
    'test("x", { skip: true }, () => {});',
    'test("x", { skip: !hasBrowser }, () => {});',
    'test("x", { skip: process.platform === "win32" }, () => {});',
    'test("x", { todo: true }, () => {});',
    'test("x", (t) => {t.skip();});',
    'test("x", (t) => {t.skip("");});',
  ])
    test(`refused: ${text}`, () => {
      assert.deepEqual(check(`\n\n${text}`), [3]);
    });

  for (const text of [
    'await sleep(50); // fixed wait: the lease itself must run out',
    '// fixed wait: the deadline of the test\nsetTimeout(fail, 5000);',
    "import { VirtualClock } from '../src/runtime/clock.ts';\nvoid clock.sleep(1000);",
    'await poll(ready, { deadlineMs: 5000 });',
    'test("x", { skip: hasBrowser ? false : "no browser on this machine" }, () => {});',
    'test("x", (t) => { t.skip("no browser on this machine"); });',
    'list.skip(5); options({ skip: true });',
  ])
    test(`passes: ${text}`, () => {
      assert.deepEqual(check(text), []);
    });

  test('a reason must say something', () => {
    assert.deepEqual(check('await sleep(50); // fixed wait:'), [1]);
  });
});

describe('dependencies', () => {
  const manifest = {
    name: 'heddle',
    dependencies: { pg: '8' },
    optionalDependencies: { sdk: '1' },
    devDependencies: { '@types/pg': '8' },
  };
  const row = (names: string): string => `| ${names} | what it is for | why this one |\n`;

  test('a dependency without a line, and a line without a dependency', () => {
    assert.deepEqual(checkDocumented([manifest], row('`pg`') + row('`sdk`, `@types/pg`')), []);
    assert.match(format(checkDocumented([manifest], row('`pg`, `sdk`'))), /'@types\/pg' has no line/);
    const stale = checkDocumented([manifest], `# Title\n\n${row('`pg`, `sdk`, `@types/pg`')}${row('`left-pad`')}`);
    assert.match(format(stale), /docs\/dependencies\.md:4 'left-pad' is not in package\.json/);
  });

  test('a line without a reason is no line', () => {
    assert.equal(checkDocumented([{ name: 'heddle', dependencies: { pg: '8' } }], '| `pg` | | |').length, 1);
  });

  test('imports: undeclared, development only, optional at load time', () => {
    const check = (text: string): Finding[] => checkImported([file('src/a/x.ts', text)], manifest);
    assert.deepEqual(check(`import pg from 'pg';\nimport 'node:fs';\nimport x from 'pg/lib/x.js';`), []);
    assert.equal(check(`import x from 'left-pad';`).length, 1);
    assert.match(format(check(`import { x } from 'sdk/x';`)), /optional; load it with `await import\(\)`/);
    assert.deepEqual(check(`import type { X } from 'sdk';\nconst x = await import('sdk');`), []);
  });
});

describe('statements', () => {
  const from = `import type { Statement } from './database.ts';\n`;
  const maker = file(
    'packages/core/src/store/runs.ts',
    `${from}export class Runs {
  constructor({ name }) {
    const statement = (own: string, text: string): Statement => ({ name: \`\${name}.\${own}\`, text });
    this.one = statement('one', 'select 1');
  }
}`,
  );
  const list = file(
    'packages/core/src/store/list.ts',
    `${from}export class List {
  of(key: string): Statement {
    const text = 'select 2';
    return { name: key, text };
  }
}`,
  );
  const check = (...texts: string[]): Finding[] =>
    checkStatements([maker, list, ...texts.map((text, at) => file(`packages/core/src/store/${at}.ts`, from + text))]);

  test('custom names pass, in any file', () => {
    const runs = `const runs = new Runs({ name: 'shops' }); const shops = new List({ name: 'shops.list' });`;
    const rest = `const A: Statement = { name: 'shops.get', text: 'select 1' };
const of = (name: string): Statement => ({ name, text: 'select 1' });
const B = of('shops.two');`;
    assert.deepEqual(check(runs, rest), []);
  });

  test('one name twice is refused, and names both places', () => {
    const given = `const A: Statement = { name: 'shops.one', text: 'select 1' };`;
    const [again, ...others] = check(given, given);
    assert.deepEqual([again!.path, again!.line, others], ['packages/core/src/store/1.ts', 2, []]);
    assert.match(again!.message, /^a statement of packages\/core\/src\/store\/0\.ts:2 has the name 'shops\.one', too/);
    for (const other of [
      `const of = (name: string): Statement => ({ name, text: 'select 1' });\nconst B = of('shops.one');`,
      `const runs = new Runs({ name: 'shops' });`,
      `const lists = new List({ name: 'shops' });`,
    ])
      assert.equal(check(given, other).length, 1, other);
  });

  test('a name that cannot be read, and one that PostgreSQL cuts, are refused', () => {
    assert.match(check(`const A: Statement = { name: at(1), text: 'select 1' };`)[0]!.message, /^the name of the/);
    const long = 'x'.repeat(64);
    assert.match(check(`const A: Statement = { name: '${long}', text: 'select 1' };`)[0]!.message, /63 bytes/);
  });
});
