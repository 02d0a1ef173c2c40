import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { ended, type Ended } from '@heddle/test-support/cli/command-process';
import { eventually } from '@heddle/test-support/eventually';
import { reconSurroundings, recordsOf } from '../support/command/fixture.ts';

const near = reconSurroundings();

describe('dns', () => {
  const dns = (...args: string[]): Promise<Ended> =>
    near.directory.recon(['dns', '--resolvers', near.names.address, '--scope', 'example.test,wild.test', ...args]);

  test('names by type, reverse lookups; a table, or records', async () => {
    const ran = await dns('www.example.test', 'nothing.example.test', '127.0.0.1', '--types', 'A', '--json');
    assert.equal(ran.code, 0);
    assert.deepEqual(
      recordsOf(ran)
        .map(({ host, query_type, status_code, a, ptr }) => [host, query_type, status_code, a ?? ptr])
        .sort(),
      [
        ['127.0.0.1', 'PTR', 'NOERROR', ['www.example.test']],
        ['nothing.example.test', 'A', 'NXDOMAIN', undefined],
        ['www.example.test', 'A', 'NOERROR', ['127.0.0.1']],
      ],
    );
    const table = await dns('www.example.test', '--types', 'A');
    assert.deepEqual(
      table.lines.map((line) => line.split(/ {2,}/)),
      [
        ['NAME', 'TYPE', 'STATUS', 'TTL', 'ANSWER'],
        ['www.example.test', 'A', 'NOERROR', '60', '127.0.0.1'],
      ],
    );
    assert.match(table.stderr, /^1 name in .*: 1 answer, 1 query\n$/);
  });

  test('a word list: existing names, without those that only a wildcard answers', async () => {
    near.directory.write('words.txt', 'www\nnope\n# comment\nmail\n');
    const args = ['example.test', 'wild.test', '--types', 'A', '--wordlist', 'words.txt', '--json'];
    const [found, all] = await Promise.all([dns(...args), dns(...args, '--all-states')]);
    const hosts = (ran: Ended): unknown[] =>
      recordsOf(ran).map(({ host, wildcard }) => (wildcard === true ? `*${String(host)}` : host));
    assert.deepEqual(hosts(found).sort(), ['example.test', 'wild.test', 'www.example.test']);
    assert.deepEqual(hosts(all).sort(), [
      '*mail.wild.test',
      '*nope.wild.test',
      '*www.wild.test',
      'example.test',
      'mail.example.test',
      'nope.example.test',
      'wild.test',
      'www.example.test',
    ]);
  });

  test('words from standard input', async () => {
    const args = ['dns', 'example.test', '--resolvers', near.names.address, '--scope', 'example.test', '--types', 'A'];
    const ran = await near.directory.recon([...args, '--wordlist', '-', '--json'], 'www\nnope\n');
    assert.equal(ran.code, 0);
    assert.deepEqual(
      recordsOf(ran)
        .map(({ host }) => host)
        .sort(),
      ['example.test', 'www.example.test'],
    );
  });

  test('a stalled reader stops the sending; when it reads again, sending continues, and nothing is missing or duplicated', async () => {
    const args = [
      'dns',
      '127.0.0.0/17',
      '--resolvers',
      near.names.address,
      '--rate',
      '0',
      '--host-rate',
      '0',
      '--json',
    ];
    const before = near.names.queries.length;
    const child = near.directory.probe(...args);
    let [asked, since] = [0, performance.now()];
    const isQuiet = (): boolean => {
      const now = near.names.queries.length - before;
      if (now !== asked) [asked, since] = [now, performance.now()];
      return asked > 0 && performance.now() - since > 500;
    };
    await eventually(isQuiet, 'no more queries come');
    assert.ok(asked < 25_000, `${asked} of 32,768 queries were sent to a reader that was not there`);
    const running = ended(child);
    await eventually(() => near.names.queries.length - before > asked + 500, 'it goes on');
    child.kill('SIGINT');
    const ran = await running;
    const hosts = recordsOf(ran).map(({ host }) => host);
    assert.equal(ran.code, 130);
    assert.ok(
      hosts.length >= asked - 4096,
      `${hosts.length} records of ${asked} queries, 4,096 of them under way at most`,
    );
    assert.equal(new Set(hosts).size, hosts.length);
  });

  test('localhost is loopback, and no resolver is queried for it', async () => {
    const ran = await dns('localhost', 'www.localhost', '--types', 'A', '--json');
    assert.deepEqual(
      recordsOf(ran)
        .map(({ host, a, resolver }) => [host, a, resolver])
        .sort(),
      [
        ['localhost', ['127.0.0.1'], null],
        ['www.localhost', ['127.0.0.1'], null],
      ],
    );
    assert.match(ran.stderr, /^2 names in .*: 2 answers, 0 queries\n$/);
    assert.ok(!near.names.queries.some(({ name }) => name.endsWith('localhost')));
  });

  test('a name out of scope is not queried', async () => {
    const ran = await dns('other.example');
    assert.equal(ran.code, 2);
    assert.match(ran.stderr, /refused: no entry of the scope covers other\.example/);
    assert.ok(!near.names.queries.some(({ name }) => name.endsWith('other.example')));
  });
});
