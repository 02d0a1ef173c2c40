import fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import type { Environment, HttpTarget, Subject } from '../src/subject.ts';

const SCHEMA = `
  create table task (
    id uuid primary key default gen_random_uuid(), name text not null, kind text not null, timeout integer not null,
    metadata jsonb not null, success integer not null default 0, failures integer not null default 0,
    created_at timestamptz not null default now(), last_updated timestamptz not null default now()
  );
`;

const INSERT = {
  name: 'insert',
  text: 'insert into task (name, kind, timeout, metadata) values ($1, $2, $3, $4) returning id',
};
const COUNT = {
  name: 'count',
  text: 'update task set success = success + $2, failures = failures + $3, last_updated = now() where id = $1',
};

interface TaskBody {
  name: string;
  kind: string;
  timeout: number;
  metadata: object;
}

const TASKS_SCHEMA = {
  type: 'array',
  items: {
    type: 'object',
    required: ['name', 'kind', 'timeout', 'metadata'],
    properties: {
      name: { type: 'string', maxLength: 255 },
      kind: { type: 'string', maxLength: 100 },
      timeout: { type: 'integer', minimum: 1, maximum: 86400 },
      metadata: { type: 'object' },
    },
  },
};

const COUNTERS_SCHEMA = {
  type: 'object',
  properties: { new_success: { type: 'integer', minimum: 0 }, new_failures: { type: 'integer', minimum: 0 } },
};

/**
 * The obvious implementation: fastify with validation, pg with prepared statements, one statement for each operation.
 */
class NaiveSubject implements Subject {
  #pool!: pg.Pool;
  #server: FastifyInstance | null = null;

  async prepare(environment: Environment): Promise<void> {
    this.#pool = new pg.Pool({ connectionString: environment.database_url!, max: 10 });
    await this.#pool.query(SCHEMA);
  }

  async close(): Promise<void> {
    await this.#server?.close();
    await this.#pool.end();
  }

  async #insert(tasks: readonly TaskBody[]): Promise<{ id: string }[]> {
    const client = await this.#pool.connect();
    const created: { id: string }[] = [];
    try {
      if (tasks.length > 1) await client.query('begin');
      for (const { name, kind, timeout, metadata } of tasks) {
        const { rows } = await client.query<{ id: string }>({ ...INSERT, values: [name, kind, timeout, metadata] });
        created.push(rows[0]!);
      }
      if (tasks.length > 1) await client.query('commit');
    } finally {
      client.release();
    }
    return created;
  }

  async listen(running: number): Promise<HttpTarget> {
    const server = fastify({ bodyLimit: 16_777_216 });
    this.#server = server;
    server.post<{ Body: TaskBody[] }>('/task', { schema: { body: TASKS_SCHEMA } }, async (request, reply) => {
      const created = await this.#insert(request.body);
      return reply.code(201).send(created.map(({ id }, at) => ({ id, ...request.body[at] })));
    });
    server.put<{ Params: { id: string }; Body: { new_success: number; new_failures: number } }>(
      '/task/:id',
      { schema: { body: COUNTERS_SCHEMA } },
      async (request, reply) => {
        const { new_success: success, new_failures: failures } = request.body;
        const { rowCount } = await this.#pool.query({ ...COUNT, values: [request.params.id, success, failures] });
        return reply.code(rowCount === 1 ? 202 : 404).send();
      },
    );
    await server.listen({ host: '127.0.0.1', port: 0 });
    const tasks = await this.#insert(
      Array.from({ length: running }, () => ({ name: 'running', kind: 'bench', timeout: 3600, metadata: {} })),
    );
    return { port: (server.server.address() as AddressInfo).port, task_ids: tasks.map(({ id }) => id) };
  }
}

export function createSubject(): Subject {
  return new NaiveSubject();
}
