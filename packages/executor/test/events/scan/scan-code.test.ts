import assert from 'node:assert/strict';
import { test } from 'node:test';

import { scanCode, scanSource } from '../../../src/events/scan/scan-code.ts';
import { directory, eventModule, failureOf, openRegistry, write } from '../../support/events/fixture.ts';
import { threadMs } from '@heddle/test-support/processor-time';

/** Sources with the rules that they violate. */
const SOURCES: readonly [string, readonly string[]][] = [
  ['eval("1")', ['eval']],
  ['const e = eval; e("1")', ['eval']],
  ['(0, eval)("1")', ['eval']],
  ['globalThis.eval("1")', ['eval']],
  ['model.eval(x); const o = { eval: 1 };', []],
  ['// eval("1")\n/* eval("1") */ "eval(1)"; `eval(1)`; /eval(1)/', []],
  ['`${eval("1")}`', ['eval']],
  ['`a${`b${eval("1")}`}` + eval("2")', ['eval', 'eval']],
  ['`${{ a: 1 }}` + eval("1")', ['eval']],
  ['new Function("return 1")()', ['function-constructor']],
  ['Function ("return 1")', ['function-constructor']],
  ['x instanceof Function; typeof Function', []],
  ['\\u0065val("1")', ['escaped-name']],
  ['\\u{65}val("1")', ['escaped-name']],
  ["import { spawn } from 'node:child_process';", ['builtin:child_process']],
  ["import 'child_process'; export * from 'vm';", ['builtin:child_process', 'builtin:vm']],
  ["const net = require('net'); await import('node:dns/promises');", ['builtin:net', 'builtin:dns']],
  ["process.getBuiltinModule('fs'); process.binding('x')", ['process.getBuiltinModule', 'process.binding']],
  ["import fs from 'node:fs'; import path from 'path'; import { net } from './net';", []],
  ["const text = 'net'; f('child_process');", []],
  ['import(name); require(`./${x}`); require(a + b)', ['dynamic-import', 'dynamic-require', 'dynamic-require']],
  ["import('./x.js'); import.meta.url; function require(x) {}", []],
  ['const half = a / b; const other = c / eval("1");', ['eval']],
  ['return /"/.test(x) ? eval("1") : 2', ['eval']],
  ["const broken = 'no end\neval('1')", ['eval']],
  ['const s = "a\\"b"; eval("1")', ['eval']],
  ['`no end eval("1")', []],
  ['/* no end eval("1")', []],
  ['', []],
];

for (const [source, rules] of SOURCES) {
  test(`scan of ${JSON.stringify(source)}`, async () => {
    const findings = await scanSource(source, 'x.js');
    assert.deepEqual(
      findings.map(({ rule }) => rule),
      rules,
    );
  });
}

test('findings have line numbers, files their own rules, and the number is limited', async (t) => {
  const below = await directory(t);
  const files = {
    'a.js': '\n\n  eval("1");\n// x\neval("2")',
    'addon.node': 'x',
    'b.ts': 'const f: Function = new Function("x");',
    'data.json': '"eval(1)"',
    'package.json': '{"scripts":{"postinstall":"x"}}',
    'sub/package.json': 'no json',
  };
  await write(below, files);
  const findings = await scanCode(below, Object.keys(files));
  assert.deepEqual(
    findings.map(({ rule, path, line }) => `${rule} ${path}:${line}`),
    [
      'eval a.js:3',
      'eval a.js:5',
      'native-addon addon.node:0',
      'function-constructor b.ts:1',
      'install-script package.json:0',
    ],
  );
  await write(below, { 'many.js': 'eval(1);'.repeat(1_000) });
  assert.equal((await scanCode(below, ['many.js'])).length, 200);
});

test('scanning large sources does not block the event loop', async () => {
  const source = `${'const a = b + "c" / 2; // d\n'.repeat(100_000)}eval(1)`;
  // Measured as processor time, which excludes other programs.
  let longestMs = 0;
  let lastAt = threadMs();
  const watch = setInterval(() => {
    longestMs = Math.max(longestMs, threadMs() - lastAt);
    lastAt = threadMs();
  }, 1);
  const findings = await scanSource(source, 'x.js').finally(() => clearInterval(watch));
  assert.deepEqual(findings, [{ rule: 'eval', path: 'x.js', line: 100_001 }]);
  assert.ok(longestMs < 500, `timers waited for ${longestMs} ms of work`);
});

test('a file of random bytes terminates', async () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    let state = seed;
    const odd = Array.from({ length: 500 }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return '`${}"\'/\\\n*[](){}abc eval require(import .#\u{1f600}\ud800'[state % 47];
    }).join('');
    assert.ok(Array.isArray(await scanSource(odd, 'x.js')));
  }
});

test('findings are reported, or reject the code, as configured', async (t) => {
  const below = await directory(t);
  await write(below, { 'e/index.js': `${eventModule('E')}\nexport const e = () => eval('1');\n` });
  const events = [{ name: 'E', type: 'local', path: 'e' }];
  const reported = await openRegistry(t, below, { events });
  const found = reported.audit.find(({ action }) => action === 'code_findings');
  assert.deepEqual(found, {
    action: 'code_findings',
    event_name: 'E',
    source: 'local',
    digest: reported.registry.peek('E')?.digest,
    refused: false,
    count: 1,
    findings: ['eval index.js:4'],
  });
  assert.match(
    await failureOf(openRegistry(t, below, { events, codeScan: 'refuse' })),
    /the code scan reported 1 findings: eval index\.js:4/,
  );
  const off = await openRegistry(t, below, { events, codeScan: 'off' });
  assert.equal(off.audit.length, 1);
});
