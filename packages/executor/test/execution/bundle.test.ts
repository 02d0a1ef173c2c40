import assert from 'node:assert/strict';
import { readdir, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { runInNewContext } from 'node:vm';
import { test } from 'node:test';

import { bundle } from '../../src/execution/bundle.ts';
import { Stage } from '../../src/execution/stage.ts';

const MODULES = {
  'a/main.ts': `import { basename as last, join } from 'node:path';
import {
  twice,
  Counter as Made,
} from '../b/counter.ts';
export { twice } from '../b/counter.ts';
export const answer = [twice(new Made().next()), last(join('x', 'y')), shared()];
function shared() { return 'main'; }
`,
  'b/counter.ts': `import { one } from './one.ts';
const shared = 'counter';
export class Counter {
  next() { return one + shared.length; }
}
export async function later() {}
export function twice(value) { return 2 * value; }
`,
  'b/one.ts': `export const one = 1;\n`,
};

function linked(changes: Readonly<Record<string, string>>): ReturnType<typeof bundle> {
  return bundle(new Map(Object.entries({ ...MODULES, ...changes })), 'a/main.ts');
}

test('links modules into one script, each in its own scope', () => {
  const { code, exported } = linked({});
  assert.deepEqual(
    exported.map((line) => line.split(' = ')[0]),
    ['twice', 'answer'],
  );
  const context = { require: (name: string) => process.getBuiltinModule(name) };
  const value = runInNewContext(`${code}\nconst ${exported.join(', ')}; JSON.stringify(answer);`, context) as string;
  assert.deepEqual(JSON.parse(value), [2 * (1 + 'counter'.length), 'y', 'main']);
});

test('rejects unsupported syntax, naming the place', () => {
  const refused: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ 'b/one.ts': `export default 1;\n` }, /b\/one\.ts uses an unsupported form.* export default 1/],
    [{ 'b/one.ts': `import * as all from 'node:fs';\n` }, /b\/one\.ts uses an unsupported form.* import \* as all/],
    [{ 'b/one.ts': `export const one = import.meta.url;\n` }, /b\/one\.ts uses an unsupported form.* import\.meta/],
    [{ 'b/one.ts': `export const one = 1;\nawait one;\n` }, /b\/one\.ts uses an unsupported form.* await/],
    [{ 'b/one.ts': `import { Counter } from './counter.ts';\nexport const one = 1;\n` }, /counter\.ts imports itself/],
    [{ 'b/counter.ts': `import { two } from './two.ts';\n` }, /no such module: b\/two\.ts/],
  ];
  for (const [changes, message] of refused) assert.throws(() => linked(changes), message);
});

test('a task process starts from one file, and finds the event package in another', async () => {
  const stage = await Stage.make(await realpath(tmpdir()));
  try {
    const files = await readdir(stage.runtime, { recursive: true });
    assert.deepEqual(files.sort(), [
      'bootstrap.cjs',
      'package',
      'package/index.mjs',
      'package/package.json',
      'warm-up.mjs',
    ]);
    const { defineEvent } = (await import(`${stage.runtime}/package/index.mjs`)) as {
      defineEvent: (options: object) => { name: string };
    };
    assert.equal(defineEvent({ name: 'Works', run: () => null }).name, 'Works');
  } finally {
    await stage.remove();
  }
});
