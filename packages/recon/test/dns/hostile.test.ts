import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { seededRandom, type Random } from '@heddle/base/random';
import {
  eventually,
  numbered,
  type Query,
  reply,
  type Reply,
  scan,
  startNameServer,
  udpSockets,
} from '../support/dns/scanning.ts';

const TRUE_ADDRESS = '192.0.2.1';
const FALSE_ADDRESS = '192.0.2.66';

const answer = (query: Query, data = TRUE_ADDRESS): Reply =>
  reply(query, { answers: [{ type: 'A', name: query.name, ttl: 60, data }] });

function withId(query: Query, change: (id: number) => number): Reply {
  const { bytes } = answer(query, FALSE_ADDRESS);
  bytes.writeUInt16BE(change(query.packet.id!) & 0xffff, 0);
  return { bytes };
}

function forAnother(query: Query): Reply {
  const other = { ...query.packet, questions: [{ type: 'A' as const, name: 'other.test' }] };
  return answer({ ...query, packet: other, name: 'other.test' }, FALSE_ADDRESS);
}

function withoutQuestion(query: Query): Reply {
  const none = { ...query.packet, questions: [] };
  return reply({ ...query, packet: none }, { answers: [{ type: 'A', name: query.name, data: FALSE_ADDRESS }] });
}

function asQuery(query: Query): Reply {
  const { bytes } = answer(query, FALSE_ADDRESS);
  bytes[2]! &= 0x7f;
  return { bytes };
}

suite('foreign answers are ignored and counted', () => {
  const cases: { what: string; forged: (query: Query) => Reply; counted: RegExp }[] = [
    { what: 'with a wrong id', forged: (query) => withId(query, (id) => id + 1), counted: /100 late/ },
    {
      what: 'from another port',
      forged: (query) => ({ ...answer(query, FALSE_ADDRESS), from: 'elsewhere' }),
      counted: /\d+ (late|from other sources)/,
    },
    { what: 'of another question', forged: forAnother, counted: /100 for other questions/ },
    { what: 'of no question', forged: withoutQuestion, counted: /100 for other questions/ },
    { what: 'that are queries themselves', forged: asQuery, counted: /100 unreadable/ },
    { what: 'of one byte', forged: () => ({ bytes: Buffer.from([1]) }), counted: /100 unreadable/ },
  ];
  for (const { what, forged, counted } of cases) {
    test(what, async (t) => {
      // One at a time: a wrong id must not match another question by chance.
      const server = await startNameServer((query) => [forged(query), answer(query)]);
      t.after(() => server.close());
      const { records, notices } = await scan({ names: numbered(100), resolvers: [server.address], inFlight: 1 });
      assert.equal(records.length, 100);
      assert.ok(records.every(({ a }) => a?.[0] === TRUE_ADDRESS));
      assert.match(notices.join('\n'), counted);
    });
  }
});

test('a duplicate answer yields one record', async (t) => {
  const server = await startNameServer((query) => [answer(query), answer(query), answer(query)]);
  t.after(() => server.close());
  const { records } = await scan({ names: numbered(200), resolvers: [server.address] });
  assert.equal(new Set(records.map(({ host }) => host)).size, 200);
  assert.equal(records.length, 200);
});

test('an answer to an earlier attempt counts', async (t) => {
  // The first query is answered once the second one has arrived.
  const held = new Map<string, () => void>();
  const server = await startNameServer(async (query) => {
    if (query.repeat > 0) {
      held.get(query.name)?.();
      return [];
    }
    await new Promise<void>((resolve) => held.set(query.name, resolve));
    return [answer(query)];
  });
  t.after(() => server.close());
  const changes = { names: numbered(20), resolvers: [server.address], retries: 1, timeoutMs: 200 };
  const { records } = await scan(changes);
  assert.ok(records.every(({ a, status_code }) => status_code === 'NOERROR' && a?.[0] === TRUE_ADDRESS));
  assert.equal(server.queries.length, 40);
});

test('an answer after the timeout changes nothing', async (t) => {
  const { promise: over, resolve: release } = Promise.withResolvers<undefined>();
  const server = await startNameServer(async (query) => {
    if (query.name === 'last.test') {
      release(undefined);
      return [];
    }
    if (query.name === 'host0.test') await over;
    return [answer(query)];
  });
  t.after(() => server.close());
  const names = ['host0.test', 'last.test'];
  const changes = { names, resolvers: [server.address], retries: 0, timeoutMs: 60, inFlight: 1 };
  const { records, notices } = await scan(changes);
  assert.deepEqual(
    records.map(({ host, status_code }) => `${host} ${status_code}`),
    ['host0.test TIMEOUT', 'last.test TIMEOUT'],
  );
  assert.match(notices.join(), /1 (late|for other questions)/);
});

suite('unreadable messages', () => {
  const compressionLoop = (query: Query): Reply => {
    const { bytes } = answer(query);
    const at = bytes.length - 16 - query.name.length;
    // The owner of the answer points at itself.
    const owner = bytes.indexOf(Buffer.from(query.name.split('.')[0]!), 12 + query.name.length) - 1;
    bytes.writeUInt16BE(0xc000 | (owner < 0 ? at : owner), owner < 0 ? at : owner);
    return { bytes };
  };
  const cutShort = (query: Query): Reply => ({ bytes: answer(query).bytes.subarray(0, -3) });

  for (const [what, broken] of Object.entries({ compressionLoop, cutShort })) {
    test(`${what}: one retry, then MALFORMED`, async (t) => {
      const server = await startNameServer((query) => [broken(query)]);
      t.after(() => server.close());
      const { records } = await scan({ names: numbered(10), resolvers: [server.address], retries: 2 });
      assert.equal(server.queries.length, 30);
      for (const { status_code, resolver, ttl } of records) {
        assert.deepEqual(
          { status_code, resolver, ttl },
          { status_code: 'MALFORMED', resolver: server.address, ttl: null },
        );
      }
    });
  }

  test('transient damage costs only another query', async (t) => {
    const server = await startNameServer((query) => [query.repeat === 0 ? cutShort(query) : answer(query)]);
    t.after(() => server.close());
    const { records } = await scan({ names: numbered(50), resolvers: [server.address] });
    assert.ok(records.every(({ a }) => a?.[0] === TRUE_ADDRESS));
  });
});

test('2,000 randomly changed answers, over UDP and TCP, end every question', async (t) => {
  const random = seededRandom(7);
  const mutate = (query: Query): Reply => {
    const { bytes } = answer(query);
    for (let change = 0; change < 1 + random.next() * 3; change++) {
      bytes[2 + Math.floor(random.next() * (bytes.length - 2))] = Math.floor(random.next() * 256);
    }
    return { bytes: random.next() < 0.2 ? bytes.subarray(0, Math.floor(random.next() * bytes.length)) : bytes };
  };
  const server = await startNameServer((query) => [mutate(query)]);
  t.after(() => server.close());
  const changes = { names: numbered(1000), resolvers: [server.address], retries: 1, timeoutMs: 50 };
  const { records } = await scan(changes);
  assert.equal(new Set(records.map(({ host }) => host)).size, 1000);
  assert.ok(server.queries.length >= 2000 - records.filter(({ status_code }) => status_code === 'NOERROR').length);
});

test('random bytes to every socket do no harm', async (t) => {
  const random: Random = seededRandom(3);
  const noise = (): Reply => ({ bytes: Buffer.from(random.bytes(Math.floor(random.next() * 500))) });
  const server = await startNameServer((query) => [noise(), noise(), answer(query), noise()]);
  t.after(() => server.close());
  const { records } = await scan({ names: numbered(500), resolvers: [server.address] });
  assert.equal(records.length, 500);
  assert.ok(records.every(({ a }) => a?.[0] === TRUE_ADDRESS));
  await eventually(() => udpSockets() === 2, 'those of the server are left alone');
});
