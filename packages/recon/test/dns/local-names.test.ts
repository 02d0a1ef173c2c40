/** RFC 6761: names of the local machine are answered without a query. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isLocalName } from '../../src/dns/local-names.ts';
import { reply, scan, startNameServer } from '../support/dns/scanning.ts';

test('localhost and names below it are the loopback for every type, without a query', async (t) => {
  const server = await startNameServer((query) => [
    reply(query, { answers: query.type === 'A' ? [{ type: 'A', name: query.name, data: '192.0.2.1' }] : [] }),
  ]);
  t.after(() => server.close());
  const names = ['localhost', 'LOCALHOST.', 'www.localhost', 'notlocalhost', 'localhost.example.test'];
  const { records, notices } = await scan({
    names,
    resolvers: [server.address],
    types: ['A', 'AAAA', 'MX'],
    wildcards: true,
  });
  assert.deepEqual(notices, []);
  assert.equal(records.length, names.length * 3);
  const local = records.filter(({ resolver }) => resolver === null);
  assert.deepEqual(
    local.map(({ host, query_type, status_code, a, aaaa, mx, ttl }) => [
      host,
      query_type,
      status_code,
      a ?? aaaa ?? mx,
      ttl,
    ]),
    [
      ...['localhost', 'localhost', 'www.localhost'].flatMap((host) => [
        [host, 'A', 'NOERROR', ['127.0.0.1'], 0],
        [host, 'AAAA', 'NOERROR', ['::1'], 0],
        [host, 'MX', 'NOERROR', undefined, null],
      ]),
    ],
  );
  assert.deepEqual(
    server.queries.filter(({ name }) => isLocalName(name.toLowerCase())),
    [],
  );
});

test('many of them are regular records: a consumer receives each one, and the scan ends', async () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `host${index}.localhost`);
  const { records } = await scan({ names, resolvers: ['127.0.0.1:9'] });
  assert.equal(new Set(records.map(({ host }) => host)).size, 20_000);
});
