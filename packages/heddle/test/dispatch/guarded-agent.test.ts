import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { deliverOnce } from '../../src/dispatch/deliver.ts';
import { STRICT_SSRF_POLICY } from '@heddle/base/outbound/ssrf';
import type { SsrfPolicy } from '@heddle/base/outbound/ssrf';
import { delivery, dependencies, startTarget } from '../support/dispatch/targets.ts';
import type { Target } from '../support/dispatch/targets.ts';

/** 127.0.0.2 stands in for the public internet: the only loopback address that this policy allows. */
const PUBLIC = '127.0.0.2';
const policy: SsrfPolicy = { ...STRICT_SSRF_POLICY, allowedCidrs: [`${PUBLIC}/32`] };

function resolverOf(...answers: string[][]) {
  const asked: string[] = [];
  const resolve = (hostname: string) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)]!;
    asked.push(hostname);
    return Promise.resolve(answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  };
  return { asked, resolve };
}

describe('connecting to the addresses of a name', () => {
  const opened: { close: () => Promise<void> }[] = [];
  after(() => Promise.all(opened.map((one) => one.close())));
  const track = <T extends { close: () => Promise<void> }>(one: T): T => (opened.push(one), one);

  /** A public target and a private one on the same port, as DNS rebinding needs. */
  async function publicAndPrivate(): Promise<{ port: number; open: Target; inner: Target }> {
    for (;;) {
      const open = await startTarget((_, response) => response.writeHead(200, { connection: 'close' }).end(), {
        host: PUBLIC,
      });
      const port = Number(new URL(open.url).port);
      try {
        const inner = await startTarget((_, response) => response.end('secret'), { port });
        return { port, open: track(open), inner: track(inner) };
      } catch {
        await open.close();
      }
    }
  }

  it('connects to the checked address without another lookup', async () => {
    const { port, open, inner } = await publicAndPrivate();
    const { asked, resolve } = resolverOf([PUBLIC], ['127.0.0.1']);
    const deps = track(dependencies({ policy, agentOptions: { resolve } }));
    const first = await deliverOnce(delivery(`http://rebind.example:${port}/`), deps);
    assert.equal(first.outcome, 'delivered');
    assert.deepEqual(asked, ['rebind.example']);
    assert.equal(open.received.length, 1);
    assert.equal(open.received[0]!.headers.host, `rebind.example:${port}`);

    const second = await deliverOnce(delivery(`http://rebind.example:${port}/`), deps);
    assert.equal(second.outcome, 'dead');
    assert.match((second as { error: string }).error, /rebind\.example resolves to a loopback address/);
    assert.equal(inner.connections(), 0, 'the private target must not even see a connection');
  });

  it('rejects a name if one of its addresses is private, in any order', async () => {
    for (const answer of [
      [PUBLIC, '10.0.0.1'],
      ['::1', PUBLIC],
      [PUBLIC, '::ffff:127.0.0.1'],
    ]) {
      const { resolve } = resolverOf(answer);
      const deps = track(dependencies({ policy, agentOptions: { resolve } }));
      const result = await deliverOnce(delivery('http://mixed.example:9/'), deps);
      assert.equal(result.outcome, 'dead', answer.join());
      assert.match((result as { error: string }).error, /^the target is not allowed: mixed\.example resolves to/);
    }
  });

  it('rejects literals, which no resolver sees', async () => {
    const inner = track(await startTarget((_, response) => response.end()));
    const { port } = new URL(inner.url);
    const { asked, resolve } = resolverOf([PUBLIC]);
    const deps = track(dependencies({ policy, agentOptions: { resolve } }));
    for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '127.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost']) {
      // Calls the agent directly: the check of the URL's spelling must not be the only one.
      await assert.rejects(deps.agent.request({ origin: `http://${host}:${port}`, path: '/', method: 'GET' }), {
        code: 'SSRF_REFUSED',
      });
      const result = await deliverOnce(delivery(`http://${host}:${port}/`), deps);
      assert.equal(result.outcome, 'dead', host);
    }
    assert.deepEqual(asked, []);
    assert.equal(inner.connections(), 0);
  });

  it('follows no redirect, and reports it', async () => {
    const inner = track(await startTarget((_, response) => response.end('secret')));
    const open = track(
      await startTarget((_, response) => response.writeHead(307, { location: `${inner.url}/` }).end(), {
        host: PUBLIC,
      }),
    );
    const deps = track(dependencies({ policy }));
    const result = await deliverOnce(delivery(`${open.url}/`), deps);
    assert.deepEqual([result.outcome, (result as { status: number }).status], ['dead', 307]);
    assert.match((result as { error: string }).error, /redirects are not followed/);
    assert.equal(inner.connections(), 0);
  });

  it('retries a name that is temporarily unresolvable', async () => {
    const resolve = () => Promise.reject(Object.assign(new Error('queryA'), { code: 'EAI_AGAIN' }));
    const deps = track(dependencies({ policy, agentOptions: { resolve } }));
    const result = await deliverOnce(delivery('http://nowhere.example/'), deps);
    assert.equal(result.outcome, 'retry');
    assert.match((result as { error: string }).error, /temporarily unresolvable/);
  });

  it('looks up a name once for concurrent tries', async () => {
    let asked = 0;
    const gate = Promise.withResolvers<undefined>();
    const resolve = async () => {
      asked += 1;
      await gate.promise;
      return [{ address: '10.0.0.1', family: 4 }];
    };
    const deps = track(dependencies({ policy, agentOptions: { resolve } }));
    const tries = ['/a', '/b', '/c'].map((path) => deliverOnce(delivery(`http://slow-dns.example${path}`), deps));
    gate.resolve(undefined);
    const results = await Promise.all(tries);
    assert.deepEqual(
      results.map((result) => result.outcome),
      ['dead', 'dead', 'dead'],
    );
    assert.equal(asked, 1);
  });

  it('reuses a connection for the next delivery to the same origin', async () => {
    const target = track(await startTarget((_, response) => response.end('ok')));
    const deps = track(dependencies());
    for (let n = 0; n < 10; n += 1) await deliverOnce(delivery(`${target.url}/${n}`), deps);
    assert.equal(target.received.length, 10);
    // The pool may open a second one while the first is still being returned.
    assert.ok(target.connections() <= 2, `${target.connections()} connections`);
  });

  it('resolves localhost with the system resolver if development allows it', async () => {
    const target = track(await startTarget((_, response) => response.end()));
    const { port } = new URL(target.url);
    const result = await deliverOnce(delivery(`http://localhost:${port}/`), track(dependencies()));
    assert.equal(result.outcome, 'delivered');
  });
});
