/** The schemas that built-in kinds have for their inputs, against the validators that they are made from. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Check } from 'typebox/schema';

import type { JsonObject } from '@heddle/base/json';
import type { StandardSchema } from '@heddle/base/standard-schema';
import { commandSchema } from '../../src/kinds/command/input.ts';
import { scanSchema } from '../../src/kinds/object-scan/input.ts';
import { remoteEventSchema } from '../../src/kinds/remote/input.ts';

function toldBy(schema: StandardSchema<JsonObject, unknown>): JsonObject {
  return schema['~standard'].jsonSchema!.input({ target: 'draft-2020-12' }) as JsonObject;
}

async function isAccepted(schema: StandardSchema<JsonObject, unknown>, input: JsonObject): Promise<boolean> {
  return (await schema['~standard'].validate(input)).issues === undefined;
}

const ACCEPTED: readonly [StandardSchema<JsonObject, unknown>, JsonObject][] = [
  [commandSchema, { run: 'echo 1', shell: 'sh', env: { A: 'b' }, stdin: 'x', success_exit_codes: [0, 3] }],
  [commandSchema, { argv: ['ls', '-l'], artifacts: ['*.txt'], files: { a: 'x', b: { artifact: 'task/name' } } }],
  [
    commandSchema,
    { run: 'x', isolation: 'container', image: 'debian:12', memory_mb: 64, network: true, result: 'json' },
  ],
  [scanSchema, { sources: [{ type: 'path', path: '/srv', slice: { from: ['a'] } }], options: { exclude: ['*.png'] } }],
  [
    scanSchema,
    { sources: [{ type: 'git', repository: '/r', revisions: ['main'] }], options: { archives: { depth_max: 2 } } },
  ],
  [scanSchema, { sources: [{ type: 'list', paths: ['a'] }], options: { rules: [{ name: 'r', toml: 'x = 1' }] } }],
  [remoteEventSchema, { event_name: 'a.b', args: { x: 1 }, timeout_secs: 3 }],
];

test('the schema of a kind accepts what the kind accepts', async () => {
  for (const [schema, input] of ACCEPTED) {
    assert.ok(await isAccepted(schema, input), JSON.stringify(input));
    assert.ok(Check(toldBy(schema), input), JSON.stringify(input));
  }
});

const REFUSED: readonly [StandardSchema<JsonObject, unknown>, JsonObject][] = [
  [commandSchema, { argv: 'ls' }],
  [commandSchema, { argv: [1] }],
  [commandSchema, { run: 3 }],
  [commandSchema, { run: 'x', shell: 'zsh' }],
  [commandSchema, { run: 'x', env: { A: 1 } }],
  [commandSchema, { run: 'x', files: { a: { artefact: 'x' } } }],
  [commandSchema, { run: 'x', success_exit_codes: [256] }],
  [scanSchema, { sources: [{ type: 'ftp' }] }],
  [scanSchema, { sources: {} }],
  [scanSchema, { sources: [{ type: 'list', paths: [] }], options: { exclude: 'x' } }],
  [scanSchema, { sources: [{ type: 'list', paths: [] }], options: { archives: { depth_max: 'deep' } } }],
  [remoteEventSchema, { event_name: 'a', args: [] }],
];

test('the schema of a kind refuses what the kind refuses for its form', async () => {
  for (const [schema, input] of REFUSED) {
    assert.equal(await isAccepted(schema, input), false, JSON.stringify(input));
    assert.equal(Check(toldBy(schema), input), false, JSON.stringify(input));
  }
});
