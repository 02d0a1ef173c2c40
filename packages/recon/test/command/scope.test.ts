import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { Ended } from '@heddle/test-support/cli/command-process';
import { reconSurroundings, recordsOf } from '../support/command/fixture.ts';

const near = reconSurroundings();

describe('scope', () => {
  test('targets beyond loopback and private networks are refused with the line that would allow them; 2 if nothing else is left', async () => {
    const ran = await near.tcp('8.8.8.8', '--json');
    assert.deepEqual([ran.code, ran.stdout], [2, '']);
    assert.equal(ran.stderr, 'refused: no entry of the scope covers 8.8.8.8; add it, or a network that contains it\n');
  });

  test('3 if others were probed; many refusals are counted', async () => {
    const many = Array.from({ length: 30 }, (_, index) => `8.8.${index}.8`);
    const ran = await near.tcp('127.0.0.1', ...many, '-p', String(near.web.port), '--json');
    assert.equal(ran.code, 3);
    assert.equal(recordsOf(ran).length, 1);
    assert.equal(ran.stderr.match(/^refused: /gm)?.length, 20);
    assert.match(ran.stderr, /^and 10 more of these$/m);
  });

  test('a name that resolves to a forbidden address is refused, and alone ends with 2', async () => {
    const ran = await near.tcp('far.example.test', '--scope', '8.8.4.4', '--resolvers', near.names.address);
    assert.equal(ran.code, 2);
    const trap = await near.tcp('trap.example.test', '--scope', 'example.test', '--resolvers', near.names.address);
    assert.equal(trap.code, 2);
    assert.match(trap.stderr, /refused: trap\.example\.test resolves to 169\.254\.169\.254/);
  });

  test('without the flag the environment applies, as for servers; faults in it name it', async () => {
    const plan = async (scope: string, ...args: string[]): Promise<Ended> => {
      near.directory.environment = { HEDDLE_RECON_SCOPE: scope };
      try {
        return await near.tcp('203.0.113.7', '198.51.100.1', '--dry-run', '--json', ...args);
      } finally {
        near.directory.environment = {};
      }
    };
    near.directory.write('listed', '203.0.113.0/24\n');
    const targets = async (...asked: Parameters<typeof plan>): Promise<unknown> => {
      const { code, json } = await plan(...asked);
      return [code, json[0]!['targets'], json[0]!['refused']];
    };
    assert.deepEqual(await targets('203.0.113.7, example.test,198.51.100.1'), [0, 2, 0]);
    assert.deepEqual(await targets('@listed'), [3, 1, 1]);
    assert.deepEqual(await targets(''), [2, 0, 2]);
    assert.deepEqual(await targets('203.0.113.7', '--scope', '192.0.2.1'), [2, 0, 2], 'the flag takes its place');
    for (const wrong of ['10.0.0.5/24', '@nowhere']) {
      const ran = await plan(wrong);
      assert.deepEqual([ran.code, ran.stdout], [2, '']);
      assert.match(ran.stderr, /HEDDLE_RECON_SCOPE: /);
    }
  });

  test('files and entries; a file of the name takes precedence', async () => {
    near.directory.write('scope.txt', '# ours\n203.0.113.0/24 # documentation\nexample.test\n');
    const plan = (...args: string[]): Promise<Ended> => near.tcp('203.0.113.7', '--dry-run', '--json', ...args);
    const ran = await Promise.all([
      plan(),
      plan('--scope', 'scope.txt'),
      plan('--scope', '@scope.txt'),
      plan('--scope', '203.0.113.7'),
    ]);
    assert.deepEqual(
      ran.map(({ code, json }) => [code, json[0]!['targets'], json[0]!['refused']]),
      [
        [2, 0, 1],
        [0, 1, 0],
        [0, 1, 0],
        [0, 1, 0],
      ],
    );
    near.directory.write('wrong.txt', 'example.test\n10.0.0.5/24\n');
    const wrong = await plan('--scope', 'wrong.txt');
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /wrong\.txt:2: \\?"10\.0\.0\.5\/24\\?" has host bits set/);
  });
});
