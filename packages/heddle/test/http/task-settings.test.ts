/** Every plain setting of a task, from its submission to the database and back, in both forms of submission. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { TASK_FIELD_NAMES, TASK_FIELDS, type TaskForm } from '@heddle/base/vocabulary/task-fields';
import { createEngine } from '@heddle/core/engine/engine';
import type { Engine } from '@heddle/core/engine/port';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';

const FIELDS = TASK_FIELD_NAMES.map((name) => TASK_FIELDS[name]);

let server: TestServer;
let engine: Engine;

before(async () => {
  const { database } = await createTestDatabase();
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
  server = await createTestServer({ engine, database });
});

after(async () => {
  await server.app.close();
  await engine.close();
});

async function call<Body = Record<string, unknown>>(
  method: 'GET' | 'POST',
  url: string,
  payload?: object,
): Promise<Body> {
  const response = await server.app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
  assert.ok(response.statusCode < 300, response.body);
  return JSON.parse(response.body) as Body;
}

/** Submits one task and returns what the database says of it. */
async function stored(form: TaskForm, settings: object): Promise<Record<string, unknown>> {
  if (form === 'batch') {
    const [task] = await call<{ id: string }[]>('POST', '/task', [{ name: 'a', kind: 'work', ...settings }]);
    return await call('GET', `/task/${task!.id}`);
  }
  const root = { mode: 'sequential', children: [{ kind: 'work', ...settings }] };
  const { id } = await call('POST', '/v1/workflows', { root });
  const tree = await call('GET', `/v1/workflows/${String(id)}`);
  return (tree['root'] as { children: Record<string, unknown>[] }).children[0]!;
}

function values(form: TaskForm, pick: (field: (typeof FIELDS)[number]) => unknown): Record<string, unknown> {
  return Object.fromEntries(FIELDS.map((field) => [field[form], pick(field)]));
}

const acceptedBy = (form: TaskForm) => (field: object) => form === 'batch' || !('batchOnly' in field);

function expectSettings(task: Record<string, unknown>, expected: Record<string, unknown>): void {
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((member) => [member, task[member]])), expected);
}

for (const form of ['batch', 'tree'] as const) {
  const isAccepted = acceptedBy(form);
  describe(`the settings of a task of a ${form}`, () => {
    test('have their defaults', async () => {
      expectSettings(
        await stored(form, {}),
        values(form, (field) => field.default),
      );
    });

    test('are stored and shown as they were given', async () => {
      const other = (field: (typeof FIELDS)[number]): unknown =>
        'values' in field ? field.values.find((value) => value !== field.default) : field.max;
      const given = values(form, (field) => (isAccepted(field) ? other(field) : undefined));
      expectSettings(
        await stored(form, given),
        values(form, (field) => (isAccepted(field) ? other(field) : field.default)),
      );
    });
  });
}
