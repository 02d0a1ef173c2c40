import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Command } from 'commander';

import { addOptionGroup, valuesOf } from '../src/terminal/setting-options.ts';
import * as kind from '../src/setting.ts';

const flag = '--flag <value>';
const description = '';

test('sizes: single letters and units with i are powers of 1024, others of 1000', () => {
  const size = kind.bytes({ flag, description, fallback: 0, min: 0, max: 1024 ** 5 });
  const given = ['0', '4096', '10k', '4MiB', '1.5 GB', '2g', '1T', '7b', '0.5k', '3kB'];
  const values = [0, 4096, 10 * 1024, 4 * 1024 ** 2, 1.5e9, 2 * 1024 ** 3, 1024 ** 4, 7, 512, 3000];
  assert.deepEqual(
    given.map((text) => size.parse(text)?.value),
    values,
  );
  for (const text of ['', '-1', '1e9', 'k', '10 potatoes', '0x10', '9'.repeat(40), 'NaN', '1.2.3', '10kk']) {
    assert.equal(size.parse(text), null, text);
  }
  assert.deepEqual(
    [0, 4096, 512 * 1024, 3 * 1024 ** 3].map((value) => size.show(value)),
    ['0', '4k', '512k', '3g'],
  );
  assert.match(kind.bytes({ flag, description, fallback: 4096, min: 4096, max: 2 << 20 }).allowed, /between 4k and 2m/);
});

test('counts and durations have limits', () => {
  const count = kind.integer({ flag, description, fallback: 1, min: 1, max: 20_000 });
  const time = kind.duration({ flag, description, fallback: null, min: 1, max: 60_000 });
  assert.deepEqual(
    [count.parse('10k'), time.parse('2s'), time.parse('500ms')].map((parsed) => parsed?.value),
    [10_000, 2000, 500],
  );
  for (const text of ['0', '21k', '1.5', '', 'x']) assert.equal(count.parse(text), null, text);
  for (const text of ['2h', '61s', '0', '']) assert.equal(time.parse(text), null, text);
});

test('the options of a command are its settings: repeated, turned off, limited, or their defaults', () => {
  const group = {
    names: kind.repeated('--name <name>', 'Name; may be repeated'),
    color: kind.toggle('--no-color', 'Plain text'),
    nul: kind.toggle('-0, --null', 'Names end with NUL'),
    level: kind.choice({ flag: '--level <level>', fallback: 'low', words: ['low', 'high'], description: 'Level' }),
    size: kind.bytes({ flag: '--size <size>', fallback: 4096, min: 1, max: 8192, description: 'Size' }),
    hidden: kind.integer({ name: 'HIDDEN', fallback: 3, min: 1, max: 9, description: '' }),
  };
  const run = (...args: string[]) => {
    const command = addOptionGroup(
      new Command().exitOverride().configureOutput({ writeErr: () => undefined }),
      'A',
      group,
    );
    return valuesOf(group, command.parse(args, { from: 'user' }).opts());
  };
  const defaults = { names: [], color: true, nul: false, level: 'low', size: 4096, hidden: 3 };
  assert.deepEqual(run(), defaults);
  assert.deepEqual(run('--name', 'a', '--no-color', '-0', '--name', 'b,c', '--level', 'high', '--size', '1k'), {
    ...defaults,
    names: ['a', 'b,c'],
    color: false,
    nul: true,
    level: 'high',
    size: 1024,
  });
  assert.throws(() => run('--size', '9k'), /--size.*It must be a size between 1 and 8k, such as 4096/);
  assert.throws(() => run('--level', 'x'), /Allowed choices are low, high/);
  assert.throws(() => run('--name', ''), /must be a string that is not empty/);
});
