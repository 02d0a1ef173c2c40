import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, test } from 'node:test';

import { VirtualClock } from '@heddle/base/clock';
import { foundSecret, specOf, verifying } from '../support/verify/verifying.ts';
import { startProvider } from '../support/verify/provider.ts';

const SECRET = ['mut', 'Zq3v9LmT7xK2wB8nR4cY6dF1sJ5hG0aE'].join('_');
const ok = { 'content-type': 'application/json' };

describe('where a secret may be sent', () => {
  test('a private, loopback or link-local address is refused before anything connects', async () => {
    await using inner = await startProvider((_request, response) => response.end());
    for (const host of ['127.0.0.1', '[::1]', 'localhost', '10.0.0.1', '192.168.1.1', '169.254.169.254', '[fd00::1]']) {
      const endpoints = [{ name: 'made-up', url: `http://${host}:${inner.port}` }];
      await using made = verifying({ endpoints, allow: [] });
      const { verdict, reason } = await made.verifier.verify(foundSecret(SECRET));
      assert.equal(verdict, 'unknown');
      assert.match(reason, /^Made-up was not asked: .*--verify-allow allows it/);
    }
    assert.deepEqual(inner.received, []);
  });

  test('a name that resolves to a private address is refused, also the second time only', async () => {
    await using inner = await startProvider((_request, response) =>
      response.writeHead(200, { connection: 'close' }).end(),
    );
    const answers = ['127.0.0.2', '127.0.0.1'];
    const endpoints = [{ name: 'made-up', url: `http://rebind.example:${inner.port}` }];
    const resolve = () => Promise.resolve([{ address: answers.shift()!, family: 4 }]);
    // 127.0.0.2 stands in for a public address, at which nothing listens.
    await using made = verifying({ endpoints, allow: ['127.0.0.2/32'] }, specOf(), { resolve });
    const first = await made.verifier.verify(foundSecret(SECRET));
    assert.match(first.reason, /connection refused/);
    const second = await made.verifier.verify(foundSecret(`${SECRET}2`));
    assert.match(second.reason, /rebind\.example resolves to a loopback address/);
    assert.deepEqual(inner.received, []);
  });

  test('a redirect is not followed', async () => {
    await using other = await startProvider((_request, response) => response.end());
    await using provider = await startProvider((_request, response) =>
      response.writeHead(302, { location: `${other.url}/steal` }).end(),
    );
    await using made = verifying({ endpoints: [{ name: 'made-up', url: provider.url }] });
    const { verdict, reason } = await made.verifier.verify(foundSecret(SECRET));
    assert.equal(verdict, 'unknown');
    assert.match(reason, /redirected the request \(HTTP 302\), which is not followed/);
    assert.deepEqual(other.received, []);
  });

  test('a secret that would end a header or become a path is not sent', async () => {
    await using provider = await startProvider((_request, response) => response.end());
    await using made = verifying({ endpoints: [{ name: 'made-up', url: provider.url }] });
    for (const secret of ['abc\r\nx-evil: 1', 'abc\u0000def', 'schlüssel']) {
      const { verdict, reason } = await made.verifier.verify(foundSecret(secret));
      assert.equal(verdict, 'unknown');
      assert.equal(reason, 'the secret has characters that the request cannot contain');
    }
    assert.deepEqual(provider.received, []);
  });

  test('a companion cannot become another host', async () => {
    const spec = specOf({
      url: 'https://{{shop}}.myshop.example/me',
      companions: [{ name: 'shop', regex: 'x', of: 'nearby', optional: false }],
    });
    for (const shop of ['evil.test/?', 'evil.test#', 'a@evil.test:80/', 'evil.test\\', '']) {
      await using made = verifying({}, spec, {
        resolve: (host) => {
          assert.ok(host.endsWith('.myshop.example'), host);
          return Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' }));
        },
      });
      const { verdict } = await made.verifier.verify(foundSecret(SECRET, { companions: { shop } }));
      assert.equal(verdict, 'unknown');
    }
  });
});

describe('a proxy', () => {
  /** A proxy that tunnels to `target`, whatever it is asked for; null: it refuses. */
  async function startProxy(target: number | null) {
    const asked: string[] = [];
    const server = createServer((_request, response) => response.writeHead(400).end());
    server.on('connect', (request, socket, head) => {
      asked.push(request.url ?? '');
      if (target === null) {
        socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
        return;
      }
      const onward = connect(target, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        onward.write(head);
        socket.pipe(onward).pipe(socket);
      });
      for (const each of [socket, onward]) each.on('error', () => onward.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const close = async (): Promise<void> => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    };
    return { asked, url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: close };
  }

  test('tunnels requests, and resolves names itself', async () => {
    await using provider = await startProvider((_request, response) =>
      response.writeHead(200, ok).end('{"login":"ada"}'),
    );
    await using proxy = await startProxy(provider.port);
    const endpoints = [{ name: 'made-up', url: 'http://provider.example' }];
    for (const settings of [{ proxy: proxy.url }, { environment: { proxy: proxy.url, noProxy: 'other.example' } }]) {
      await using made = verifying({ endpoints, allow: [], ...settings });
      const { verdict, identity } = await made.verifier.verify(foundSecret(SECRET));
      assert.deepEqual([verdict, identity], ['active', 'ada']);
    }
    assert.deepEqual(proxy.asked, ['provider.example:80', 'provider.example:80']);
    assert.equal(provider.received[0]!.headers.authorization, `Bearer ${SECRET}`);
  });

  test('that refuses is the reason for which there is no verdict', async () => {
    await using proxy = await startProxy(null);
    const endpoints = [{ name: 'made-up', url: 'http://provider.example' }];
    await using made = verifying({ endpoints, allow: [], proxy: proxy.url });
    const { reason } = await made.verifier.verify(foundSecret(SECRET));
    assert.equal(reason, 'Made-up did not answer: the proxy could not connect');
  });

  test('is not asked for internal addresses, nor for the exceptions of the environment', async () => {
    await using provider = await startProvider((_request, response) => response.writeHead(200, ok).end('{}'));
    await using proxy = await startProxy(provider.port);
    await using inner = verifying({
      endpoints: [{ name: 'made-up', url: 'http://10.1.2.3' }],
      allow: [],
      proxy: proxy.url,
    });
    assert.match((await inner.verifier.verify(foundSecret(SECRET))).reason, /10\.1\.2\.3 is a private address/);
    await using direct = verifying({
      endpoints: [{ name: 'made-up', url: provider.url }],
      environment: { proxy: proxy.url, noProxy: 'localhost,127.0.0.1' },
    });
    assert.equal((await direct.verifier.verify(foundSecret(SECRET))).verdict, 'active');
    assert.deepEqual(proxy.asked, []);
  });
});

describe('an address that the user names', () => {
  const hosted = specOf({
    url: 'https://{{tenant}}.example.com/{{area}}/me',
    companions: ['tenant', 'area'].map((name) => ({ name, regex: name, of: 'nearby', optional: false })),
    inactive: [],
    endpoint_inactive: [{ status: [401] }],
  });

  test('needs no value of which the host of the provider consists, and rejects for certain', async () => {
    await using provider = await startProvider((_request, response) => response.writeHead(401, ok).end('{}'));
    await using made = verifying({ endpoints: [{ name: 'made-up', url: provider.url }] }, hosted);
    const found = foundSecret(SECRET, { companions: { area: 'north' } });
    const { verdict, reason } = await made.verifier.verify(found);
    assert.equal(verdict, 'inactive');
    assert.match(reason, /^Made-up rejected it with the area near it at 127\.0\.0\.1:\d+ \(HTTP 401\)$/);
    assert.deepEqual(
      provider.received.map(({ url }) => url),
      ['/north/me'],
    );
    await using without = verifying({}, hosted);
    assert.match((await without.verifier.verify(found)).reason, /there is no tenant near it/);
  });

  test('is the only one at which a service without an address of its own is asked', async () => {
    await using provider = await startProvider((_request, response) => response.writeHead(200, ok).end('{}'));
    const own = specOf({ url: '/me' });
    await using unnamed = verifying({}, own);
    const { verdict, reason } = await unnamed.verifier.verify(foundSecret(SECRET));
    assert.equal(verdict, 'unknown');
    assert.match(reason, /^Made-up has no address of its own; name yours with --verify-endpoint made-up=URL/);
    await using named = verifying({ endpoints: [{ name: 'made-up', url: `${provider.url}/base` }] }, own);
    assert.equal((await named.verifier.verify(foundSecret(SECRET))).verdict, 'active');
    assert.equal(provider.received[0]!.url, '/base/me');
  });
});

describe('how often a provider is asked', () => {
  test('once for each secret, however often it was found, and not at all for what is known', async () => {
    await using provider = await startProvider(({ headers }, response) =>
      response.writeHead(headers.authorization === `Bearer ${SECRET}` ? 200 : 401, ok).end('{}'),
    );
    const endpoints = [{ name: 'made-up', url: provider.url }];
    await using made = verifying({ endpoints });
    const again = Array.from({ length: 20 }, () => made.verifier.verify(foundSecret(SECRET)));
    const other = await made.verifier.verify(foundSecret(`${SECRET}x`));
    assert.deepEqual(new Set((await Promise.all(again)).map(({ verdict }) => verdict)), new Set(['active']));
    assert.equal(other.verdict, 'inactive');
    assert.equal(provider.received.length, 2);
    await using resumed = verifying({ endpoints }, specOf(), { known: made.recorded });
    assert.deepEqual(await resumed.verifier.verify(foundSecret(SECRET)), await again[0]);
    assert.equal(provider.received.length, 2);
    assert.ok(![...made.recorded].some((entry) => JSON.stringify(entry).includes(SECRET)));
  });

  test('at most at the rate', async () => {
    await using provider = await startProvider((_request, response) => response.writeHead(401, ok).end('{}'));
    const clock = new VirtualClock();
    await using made = verifying({ endpoints: [{ name: 'made-up', url: provider.url }], ratePerSecond: 5 }, specOf(), {
      clock,
    });
    const sent = Array.from({ length: 4 }, (_, at) => made.verifier.verify(foundSecret(`${SECRET}${at}`)));
    for (const count of [1, 2, 3, 4]) {
      await sent[count - 1];
      assert.equal(provider.received.length, count);
      await clock.advance(200);
    }
  });

  test('no more once it fails again and again', async () => {
    await using provider = await startProvider((_request, response) => response.writeHead(429).end());
    await using made = verifying({ endpoints: [{ name: 'made-up', url: provider.url }] });
    const reasons: string[] = [];
    for (let at = 0; at < 8; at++) reasons.push((await made.verifier.verify(foundSecret(`${SECRET}${at}`))).reason);
    assert.equal(provider.received.length, 5);
    assert.match(reasons[0]!, /limits requests \(HTTP 429\)/);
    assert.equal(reasons[7], 'Made-up was not asked: the last 5 requests failed (HTTP 429)');
  });
});

describe('answers', () => {
  test('one that does not come, or has no end, leaves the verdict unknown', async () => {
    await using silent = await startProvider(() => undefined);
    await using made = verifying({ endpoints: [{ name: 'made-up', url: silent.url }], timeoutMs: 100 });
    assert.match((await made.verifier.verify(foundSecret(SECRET))).reason, /did not answer: no response within 100 ms/);
    await using endless = await startProvider((_request, response) => {
      response.writeHead(200, ok);
      const write = (): void => {
        if (response.write('"'.padEnd(65_536, 'x'))) setImmediate(write);
        else response.once('drain', write);
      };
      write();
    });
    const spec = specOf({ active: [{ status: [200], pointer: '/login', exists: true }] });
    await using large = verifying({ endpoints: [{ name: 'made-up', url: endless.url }] }, spec);
    assert.match((await large.verifier.verify(foundSecret(SECRET))).reason, /could not be read to its end/);
  });

  test('identity and permissions are bounded, of one line, and never the secret', async () => {
    const scopes = Array.from({ length: 80 }, (_, at) => `scope-${at}-${'x'.repeat(300)}`);
    await using provider = await startProvider((_request, response) =>
      response.writeHead(200, ok).end(JSON.stringify({ login: `a\n\u0007${SECRET} ${'y'.repeat(500)}`, scopes })),
    );
    await using made = verifying({ endpoints: [{ name: 'made-up', url: provider.url }] });
    const { identity, permissions } = await made.verifier.verify(foundSecret(SECRET));
    assert.match(identity!, /^a {2}\*\*\* y+$/);
    assert.equal(identity!.length, 200);
    assert.equal(permissions.length, 50);
    assert.ok(permissions.every(({ length }) => length === 100));
  });

  test('a rejection says little of a secret that only its name assigns to the provider', async () => {
    await using provider = await startProvider((_request, response) => response.writeHead(401, ok).end('{}'));
    const options = { endpoints: [{ name: 'made-up', url: provider.url }] };
    await using made = verifying(options, specOf(), {}, true);
    const { verdict, reason } = await made.verifier.verify(foundSecret(SECRET));
    assert.equal(verdict, 'unknown');
    assert.match(reason, /^Made-up rejected it at .* \(HTTP 401\), but it may be another kind of secret$/);
  });

  test('a rule without a verification, and a missing companion, are said to be so', async () => {
    const companions = [{ name: 'account_sid', regex: 'x', of: 'nearby', optional: false } as const];
    await using made = verifying({}, specOf({ companions }));
    assert.equal(
      (await made.verifier.verify(foundSecret(SECRET, { rule_id: 'other' }))).reason,
      'no verification is known for this rule',
    );
    assert.equal(
      (await made.verifier.verify(foundSecret(SECRET))).reason,
      'Made-up cannot be asked: there is no account sid near it',
    );
  });

  test('a JSON Web Token states when it expires; no provider is asked', async () => {
    const token = (claims: object): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
    await using made = verifying({}, { type: 'jwt', name: 'jwt', provider: 'The token', companions: [] });
    const verdicts = [{ exp: 1_600_000_000 }, { exp: 4_000_000_000 }, {}, { exp: 1e300 }].map((claims) =>
      made.verifier.verify(foundSecret(token(claims))),
    );
    assert.deepEqual(
      (await Promise.all(verdicts)).map(({ verdict }) => verdict),
      ['inactive', 'unknown', 'unknown', 'unknown'],
    );
    assert.equal((await verdicts[0])!.reason, 'it expired at 2020-09-13T12:26:40.000Z');
  });
});
