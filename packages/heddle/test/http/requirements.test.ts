/** Requirements of tasks for runners, in both wire formats, against the real engine on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { settingsOf } from '@heddle/base/vocabulary/task-fields';

import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import { createEngine, type TransactionalEngine } from '@heddle/core/engine/engine';
import { createJobs } from '@heddle/core/engine/schedule/jobs';
import type { ExplanationDto } from '../../src/http/wire/explanation.ts';
import type { TaskDto } from '../../src/http/wire/task.ts';
import { openQueue } from '@heddle/core/queue/open';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, type Problem, type TestServer } from '@heddle/test-support/http/server';

const FULL = {
  resource_class: 'large',
  usage_class: 'on-demand',
  allowed_instance_types: [],
  cpu: null,
  memory_mib: null,
  count: 1,
};
const KNOWN = DEFAULT_RESOURCE_CLASSES.map(({ name }) => name).join(', ');

let server: TestServer;
let engine: TransactionalEngine;
let database: Database;
let closeQueue: () => Promise<void>;

before(async () => {
  ({ database } = await createTestDatabase());
  const common = { clock: systemClock, random: systemRandom, log: silentLogger };
  engine = createEngine({ database, ...common, archiveAfterMs: 0, resourceClasses: DEFAULT_RESOURCE_CLASSES });
  const { queue } = await openQueue({ url: 'postgres', database, ...common });
  closeQueue = () => queue.close();
  const jobs = createJobs({ database, queue, log: silentLogger, newId, now: () => null });
  server = await createTestServer({ engine, database, jobs, config: { resourceClasses: DEFAULT_RESOURCE_CLASSES } });
});

after(async () => {
  await server.app.close();
  await engine.close();
  await closeQueue();
});

interface Answer<Body> {
  status: number;
  body: Body;
}

/** The response type is asserted by the caller and checked by its assertions. */
async function call<Body>(method: 'GET' | 'POST', url: string, payload?: object): Promise<Answer<Body>> {
  const answer = await server.app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
  return { status: answer.statusCode, body: JSON.parse(answer.body) as Body };
}

async function refused(url: string, payload: object): Promise<string[]> {
  const { status, body } = await call<Problem>('POST', url, payload);
  assert.equal(status, 400);
  return body.details;
}

async function submit(requirements: object, extra: object = {}): Promise<TaskDto> {
  const { status, body } = await call<TaskDto[]>('POST', '/task', [{ name: 't', kind: 'k', requirements, ...extra }]);
  assert.equal(status, 201, JSON.stringify(body));
  return body[0]!;
}

/** The same requirements in each place where a task may have them. */
const PLACES: readonly {
  name: string;
  url: string;
  at: string;
  body: (requirements: unknown, extra?: object) => object;
}[] = [
  {
    name: 'a task of a batch',
    url: '/task',
    at: 'tasks[1].requirements',
    body: (requirements, extra = {}) => [
      { name: 'a', kind: 'k' },
      { name: 't', kind: 'k', requirements, ...extra },
    ],
  },
  {
    name: 'a node of a workflow',
    url: '/v1/workflows',
    at: 'root.children[0].requirements',
    body: (requirements, extra = {}) => ({
      root: { mode: 'parallel', children: [{ kind: 'k', requirements, ...extra }] },
    }),
  },
  {
    name: 'a node of a job',
    url: '/v1/jobs',
    at: 'workflow.root.children[0].requirements',
    body: (requirements, extra = {}) => ({
      name: `job-${newId()}`,
      cron: '0 0 * * *',
      workflow: { root: { mode: 'parallel', children: [{ kind: 'k', requirements, ...extra }] } },
    }),
  },
];

describe('requirements', () => {
  for (const { name, url, at, body } of PLACES) {
    test(`${name}: an unknown class is rejected, with the known ones`, async () => {
      assert.deepEqual(await refused(url, body({ resource_class: 'lagre' })), [
        `${at}.resource_class: must be a class of the pool, not "lagre"; known classes: ${KNOWN}; did you mean "large"?`,
      ]);
    });

    test(`${name}: rejected together with on_start, which runs elsewhere`, async () => {
      const on_start = { kind: 'Webhook', params: { url: 'https://example.com/', verb: 'Post' } };
      const details = await refused(url, body({ resource_class: 'large' }, { on_start }));
      assert.equal(details.length, 1);
      assert.ok(details[0]!.startsWith(`${at}: must not be combined with on_start`), details[0]);
    });

    test(`${name}: rejected for a kind that needs the database`, async () => {
      assert.deepEqual(await refused(url, body({ resource_class: 'large' }, { kind: 'UpsertModels' })), [
        `${at}: must not be set for the kind UpsertModels, which needs the database, and runners have none; without requirements, a server runs the task`,
      ]);
    });

    test(`${name}: each fault is reported with its field`, async () => {
      const details = await refused(url, body({ usage_class: 'sopt', count: 0, memry: 4096 }));
      const fields = details.map((detail) => detail.slice(at.length + 1, detail.indexOf(':')));
      for (const field of ['resource_class', 'usage_class', 'count', 'memry']) assert.ok(fields.includes(field), field);
      assert.match(
        details.find((detail) => detail.includes('.memry:'))!,
        /memory/,
      );
      assert.match(
        details.find((detail) => detail.includes('.usage_class'))!,
        /spot/,
      );
    });

    test(`${name}: a pattern that no type can match is rejected`, async () => {
      const [detail] = await refused(url, body({ resource_class: 'large', allowed_instance_types: ['m7i.*', '!'] }));
      assert.ok(detail!.startsWith(`${at}.allowed_instance_types[1]: must be a pattern`), detail);
    });

    test(`${name}: an invalid or repeated amount of memory is rejected`, async () => {
      const [amount] = await refused(url, body({ resource_class: 'large', memory: '4 lots' }));
      assert.ok(amount!.startsWith(`${at}.memory: must be an amount such as "4GiB"`), amount);
      assert.deepEqual(await refused(url, body({ resource_class: 'large', memory: '4GiB', memory_mib: 1 })), [
        `${at}.memory: must not be combined with memory_mib; remove one of the two`,
      ]);
    });

    test(`${name}: more CPUs than the class has are rejected`, async () => {
      const [detail] = await refused(url, body({ resource_class: 'large', cpu: 3 }));
      assert.ok(detail!.startsWith(`${at}.cpu: must be at most 2, not 3`), detail);
    });
  }

  test('of a batch task are returned with their defaults, at once and later', async () => {
    const created = await submit({ resource_class: 'large' });
    assert.deepEqual(created.requirements, FULL);
    const { body } = await call<TaskDto>('GET', `/task/${created.id}`);
    assert.deepEqual(body.requirements, FULL);
    const plain = await call<TaskDto[]>('POST', '/task', [{ name: 't', kind: 'k' }]);
    assert.equal(plain.body[0]!.requirements, null);
  });

  test('are kept unchanged', async () => {
    const given = {
      resource_class: '2xl',
      usage_class: 'spot',
      allowed_instance_types: ['M7i.*', 'c7?'.replace('?', 'i.*'), 'm7i.*'],
      cpu: 8,
      memory_mib: 20_000,
      count: 3,
    };
    const { id } = await submit(given);
    const { body } = await call<TaskDto>('GET', `/task/${id}`);
    assert.deepEqual(body.requirements, { ...given, allowed_instance_types: ['c7i.*', 'm7i.*'] });
  });

  test('memory is accepted with a unit, and returned in MiB', async () => {
    const { requirements } = await submit({ resource_class: 'large', memory: '6GiB' });
    assert.equal(requirements!.memory_mib, 6_144);
    const root = {
      mode: 'parallel',
      children: [{ kind: 'k', requirements: { resource_class: 'large', memory: 6_144 } }],
    };
    const { body } = await call<{ id: string }>('POST', '/v1/workflows', { root });
    const { body: tasks } = await call<TaskDto[]>('GET', `/task?batch_id=${body.id}`);
    const { body: node } = await call<TaskDto>('GET', `/task/${tasks[0]!.id}`);
    assert.equal(node.requirements?.memory_mib, 6_144);
  });

  test('move to the archive with the task, and back with its retry', async () => {
    const { id } = await submit({ resource_class: 'large' });
    await engine.cancel([id]);
    for (let left = 1; left > 0;) left = (await engine.retain(1_000)).archived;
    const archived = await call<TaskDto>('GET', `/task/${id}`);
    assert.deepEqual([archived.body.archived, archived.body.requirements], [true, FULL]);
    await call('POST', `/v1/tasks/${id}/retry`);
    const back = await call<TaskDto>('GET', `/task/${id}`);
    assert.deepEqual([back.body.archived, back.body.status, back.body.requirements], [false, 'Pending', FULL]);
    assert.deepEqual(await engine.claim({ lanes: ['kind:k'], limit: 1_000, holder: 'test' }).then(idsOf(id)), []);
    const rows = await database.query<{ lane: number }>(
      { name: 'test.lane', text: 'select lane from ready where task_id = $1' },
      [id],
    );
    assert.deepEqual(rows, [{ lane: -1 }]);
  });

  test('of nodes created by a generator are validated when stored, and apply', async () => {
    const { body } = await call<{ id: string }>('POST', '/v1/workflows', {
      root: { mode: 'parallel', children: [{ id: 'make', kind: 'MakeGenerator' }] },
    });
    const claimed = await call<{ tasks: { id: string; attempt: number }[] }>('POST', '/v1/work/claim', {
      kinds: ['MakeGenerator'],
    });
    const [generator] = claimed.body.tasks;
    const children = (nodes: object[]) => ({ attempt: generator!.attempt, nodes });
    const url = `/v1/work/${generator!.id}/children`;
    assert.deepEqual(await refused(url, children([{ kind: 'made', requirements: { resource_class: 'huge' } }])), [
      `nodes[0].requirements.resource_class: must be a class of the pool, not "huge"; known classes: ${KNOWN}`,
    ]);
    const id = newId();
    const created = await call(
      'POST',
      url,
      children([{ id, kind: 'made', requirements: { resource_class: 'large', memory: '4GiB' } }]),
    );
    assert.equal(created.status, 200);
    const { body: task } = await call<TaskDto>('GET', `/task/${id}`);
    assert.deepEqual([task.batch_id, task.requirements], [body.id, { ...FULL, memory_mib: 4_096 }]);
    const [straight] = await engine.createNodes([
      {
        generator_id: generator!.id,
        attempt: null,
        parent: null,
        node: {
          type: 'task',
          policy: 'FailOnFailure',
          disabled: false,
          generates: false,
          task: {
            id: newId(),
            local_id: null,
            name: 'made',
            kind: 'made',
            ...settingsOf('tree', { timeout_secs: 60 }),
            delay_ms: 0,
            metadata: {},
            actions: [],
            rules: [],
            dedupe: [],
            retry: null,
            requirements: { ...FULL, usage_class: 'on-demand', resource_class: 'huge' },
            dependencies: [],
          },
        },
      },
    ]);
    assert.equal(straight!.result, 'rejected');
  });

  test('explain shows what the task waits for', async () => {
    const { id } = await submit({ resource_class: 'large', usage_class: 'spot', allowed_instance_types: ['m7i.*'] });
    const not_requested = await call<ExplanationDto>('GET', `/v1/tasks/${id}/explain`);
    assert.match(
      not_requested.body.summary,
      /^It needs a runner of the class large \(spot, m7i\.\*\), which a manager will request from the pool shortly/,
    );
    assert.equal(not_requested.body.obstacles[0]!.type, 'runner');
  });
});

function idsOf(wanted: string): (tasks: readonly { id: string }[]) => string[] {
  return (tasks) => tasks.flatMap(({ id }) => (id === wanted ? [id] : []));
}
