/** The nightly job on real services of this machine, with real nmap. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';

import { eventually } from '@heddle/test-support/eventually';
import { DataDirectory, request } from '@heddle/test-support/app/heddle-process';

const WORKFLOW = join(import.meta.dirname, '../../examples/nightly-nmap/workflow.ts');

const data = DataDirectory.prepared();
const servers: Server[] = [];
after(async () => {
  for (const server of servers) server.close();
  await data.dispose();
});

const isInstalled = (program: string, option: string): boolean => spawnSync(program, [option]).status === 0;

async function serve(body: string): Promise<number> {
  const server = createServer((_request, response) =>
    response.setHeader('Server', 'nginx/1.22.1').end(`<html><title>${body}</title></html>`),
  );
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

interface Exposure {
  key: string;
  data: { port: number; service: string; product: string; scripts: Record<string, string> };
}

test('what is new is examined by nmap, kept as models and reported; what is known is not', async (t) => {
  const missing = [
    ['nmap', '--version'],
    ['python3', '--version'],
  ].filter(([program, option]) => !isInstalled(program!, option!));
  if (missing.length > 0) {
    t.skip(
      `not installed: ${missing.map(([program]) => program).join(', ')}; scripts/install-test-tools.sh installs them`,
    );
    return;
  }
  const told: string[] = [];
  const notified = createServer((incoming, response) => {
    incoming.setEncoding('utf8').on('data', (text: string) => told.push(text));
    incoming.on('end', () => response.end());
  });
  servers.push(notified);
  notified.listen(0, '127.0.0.1');
  await once(notified, 'listening');
  const first = await serve('first page');
  const second = await serve('second page');
  const ports = [first, second, await freePort()];

  const tier = isInstalled('bwrap', '--version') ? 'jail' : 'process';
  const run = data.up({ HEDDLE_COMMANDS: tier, HEDDLE_COMMAND_NETWORK: '1', HEDDLE_EXAMPLES: '0' });
  const { url } = await run.ready();
  const notify = `http://127.0.0.1:${(notified.address() as AddressInfo).port}/changes`;
  const args = [WORKFLOW, '--targets', '127.0.0.1', '--ports', ports.join(','), '--notify', notify];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const job = { name: 'nightly-nmap', cron: '0 3 * * *', workflow: JSON.parse(stdout) as object };
  const created = await request(url, 'POST', '/v1/jobs', { body: job });
  assert.equal(created.status, 201, JSON.stringify(created.json));

  async function runJob(times: number): Promise<void> {
    await request(url, 'POST', '/v1/jobs/nightly-nmap/trigger');
    await eventually(async () => {
      const { json } = await request(url, 'GET', '/v1/jobs/nightly-nmap/history');
      const states = (json as { state: string }[]).map(({ state }) => state);
      assert.ok(!states.includes('Failed'), `${JSON.stringify(json)}\n${run.stderr}`);
      return states.length === times && states.every((state) => state === 'Succeeded');
    }, `run ${times} has succeeded`);
  }
  const exposures = async (): Promise<Exposure[]> =>
    (await request(url, 'GET', '/v1/models?target=nightly-nmap')).json as Exposure[];

  await runJob(1);
  const found = await exposures();
  assert.deepEqual(found.map(({ data: { port } }) => port).toSorted(), [first, second].toSorted());
  const page = found.find(({ data: { port } }) => port === first)!;
  assert.deepEqual([page.data.service, page.data.product], ['http', 'nginx 1.22.1']);
  assert.match(page.data.scripts['http-title']!, /first page/);
  assert.equal(told.length, 1);
  assert.ok(told[0]!.includes(`127.0.0.1:${first} http`), told[0]);

  await runJob(2);
  assert.equal(told.length, 1, 'nothing was new');

  const added = createServer((_request, response) => response.setHeader('Server', 'nginx/1.22.1').end('third'));
  servers.push(added);
  added.listen(ports[2], '127.0.0.1');
  await once(added, 'listening');
  await runJob(3);
  assert.equal(told.length, 2);
  assert.ok(told[1]!.includes(`127.0.0.1:${ports[2]!} `) && !told[1]!.includes(`:${first} `), told[1]);
  assert.equal((await exposures()).length, 3);
  assert.equal(await run.end('SIGINT'), 0, run.stderr);
  await data.gone();
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
