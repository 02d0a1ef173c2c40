import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { loadKinds, selectKinds } from '../../src/app/kind-modules.ts';

const directory = mkdtempSync(join(tmpdir(), 'heddle-modules-'));
after(() => rmSync(directory, { recursive: true, force: true }));

function write(name: string, text: string): string {
  writeFileSync(join(directory, name), text);
  return name;
}

const namesOf = async (...paths: string[]): Promise<string[]> =>
  (await loadKinds(paths, directory)).map(({ name }) => name);

describe('modules with kinds', () => {
  it('export kinds by default or by name, single or in arrays, each once; they can import this package anywhere', async () => {
    const one = write(
      'one.ts',
      `import { defineKind, type KindContext } from '@heddle/kit';
       export const b = defineKind({ name: 'b', run: (_input, { attempt }: KindContext) => attempt });
       export const a = defineKind({ name: 'a', run: () => 1 });
       export const notes = ['not a kind'];
       export default [a, b];`,
    );
    const two = write(
      'two.mjs',
      `import { defineKind } from '@heddle/kit';
       export default defineKind({ name: 'c', run: () => 1 });`,
    );
    assert.deepEqual(await namesOf(one, two), ['a', 'b', 'c']);
  });

  it('can import the executor client and its errors', async () => {
    const path = write(
      'remote.ts',
      `import { defineKind, FinalFailure } from '@heddle/kit';
       import { RemoteExecutor, RemoteFailure } from '@heddle/executor/client';
       import { defineEvent } from '@heddle/kit/event';
       const failure = new RemoteFailure('FORBIDDEN');
       if (!(failure instanceof Error) || failure.code !== 'FORBIDDEN') throw new Error('another failure');
       if (new FinalFailure('never again').name !== 'FinalFailure') throw new Error('another failure');
       if (typeof RemoteExecutor !== 'function' || typeof defineEvent !== 'function') throw new Error('not there');
       export default defineKind({ name: 'caller', run: () => 1 });`,
    );
    assert.deepEqual(await namesOf(path), ['caller']);
  });

  it('are rejected by name if they cannot be used', async () => {
    await assert.rejects(namesOf('absent.ts'), /^CommandFailure: Module not found: .*absent\.ts$/);
    await assert.rejects(namesOf(write('empty.ts', 'export {};')), /The module empty\.ts exports no kind/);
    await assert.rejects(
      namesOf(write('broken.ts', `throw new RangeError('no table');`)),
      /The module broken\.ts cannot be loaded: RangeError: no table \(.*\/broken\.ts:1\)$/,
    );
    await assert.rejects(
      namesOf(write('syntax.ts', 'export const one = 1;\n\nexport const two = (;')),
      /The module syntax\.ts cannot be loaded: SyntaxError: .* \(.*\/syntax\.ts:3\)$/,
    );
    await assert.rejects(
      namesOf(
        write(
          'option.ts',
          `import { defineKind } from '@heddle/kit';\nexport default defineKind({ name: 'a', run: 5 });`,
        ),
      ),
      /TypeError: defineKind\(a\): run must be a function \(.*\/option\.ts:2\)$/,
    );
    const define = `import { defineKind } from '@heddle/kit'; export default defineKind({ name: 'twice', run: () => 1 });`;
    await assert.rejects(
      namesOf(write('first.ts', define), write('second.ts', define)),
      /The kind twice is defined twice: in first\.ts and in second\.ts; give one of them another name/,
    );
  });

  it('can be run in part', async () => {
    const path = write(
      'many.ts',
      `import { defineKind } from '@heddle/kit';
       export default ['x', 'y', 'z'].map((name) => defineKind({ name, run: () => name }));`,
    );
    const kinds = await loadKinds([path], directory);
    assert.deepEqual(
      selectKinds(kinds, ['z', 'x']).map(({ name }) => name),
      ['x', 'z'],
    );
    assert.equal(selectKinds(kinds, []).length, 3);
    assert.throws(() => selectKinds(kinds, ['w']), /--kind w: not defined by any module; defined: x, y, z/);
  });
});
