import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';

import {
  TransportFailure,
  type CallOptions,
  type ClientTls,
  type ClientTransport,
  type Endpoint,
} from '../../../src/client/port.ts';
import type { Listener, ListenerOptions, ListenerTls } from '../../../src/listener.ts';
import { RemoteFailure } from '../../../src/protocol/codes.ts';
import type { SignedRequest } from '../../../src/protocol/envelope.ts';
import type { Protocol } from '../../../src/protocol/messages.ts';
import { systemClock, type Clock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { makeCertificate, type Issued } from '@heddle/test-support/certificates';
import { eventually } from '@heddle/test-support/eventually';
import { opened, seal, StandInManager, submit } from './stand-in-manager.ts';

/** A protocol with its server and client; all protocols must behave the same. */
export interface TransportUnderTest {
  readonly protocol: Protocol;
  /** Whether it supports progress responses. */
  readonly progress: boolean;
  open(options: ListenerOptions<object>): Promise<Listener>;
  transport(endpoint: Endpoint, tls: ClientTls | null, clock: Clock): ClientTransport;
}

interface Certificates {
  readonly authority: Issued;
  readonly server: Issued;
  readonly client: Issued;
  readonly strangerAuthority: Issued;
  readonly stranger: Issued;
}

async function issue(): Promise<Certificates> {
  const authority = await makeCertificate({ name: 'Executors', authority: true });
  const strangerAuthority = await makeCertificate({ name: 'Strangers', authority: true });
  return {
    authority,
    strangerAuthority,
    server: await makeCertificate({ name: 'executor', names: ['127.0.0.1', 'localhost'], issuer: authority }),
    client: await makeCertificate({ name: 'tester', issuer: authority }),
    stranger: await makeCertificate({ name: 'tester', issuer: strangerAuthority }),
  };
}

let issued: Promise<Certificates> | undefined;
export const certificates = (): Promise<Certificates> => (issued ??= issue());

export const quiet: CallOptions = { signal: new AbortController().signal, token: null, traceparent: null };

interface Setup {
  readonly manager: StandInManager;
  readonly listener: Listener;
  readonly transport: ClientTransport;
  readonly certs: Certificates;
  readonly clientTls: ClientTls;
  readonly serverTls: ListenerTls;
  /** Opens another client of the same listener. */
  readonly connect: (tls: ClientTls | null, overTls?: boolean) => ClientTransport;
}

interface SetupOptions {
  readonly mutual?: boolean;
  readonly plain?: boolean;
}

async function setUp(t: TestContext, under: TransportUnderTest, options: SetupOptions = {}): Promise<Setup> {
  const certs = await certificates();
  const manager = new StandInManager();
  const ca = options.mutual === true ? certs.authority.pem : null;
  const serverTls = { cert: certs.server.pem, key: certs.server.key, ca };
  const tls = options.plain === true ? null : serverTls;
  const listener = await under.open({
    manager,
    host: '127.0.0.1',
    port: 0,
    tls,
    clock: systemClock,
    log: silentLogger,
  });
  const clientTls = { ca: certs.authority.pem };
  const connect = (given: ClientTls | null, overTls = true): ClientTransport => {
    const endpoint = { protocol: under.protocol, host: '127.0.0.1', port: listener.address.port, tls: overTls };
    const transport = under.transport(endpoint, given, systemClock);
    t.after(() => transport.close());
    return transport;
  };
  t.after(() => listener.close(0));
  const transport = options.plain === true ? connect(null, false) : connect(clientTls);
  return { manager, listener, transport, certs, clientTls, serverTls, connect };
}

async function failureOf(call: Promise<unknown>): Promise<TransportFailure> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof TransportFailure, `${String(error)} is not a TransportFailure`);
    return error;
  }
  throw new Error('the call succeeded');
}

async function echoed(transport: ClientTransport, text = 'hello'): Promise<void> {
  const request = submit('Echo', { text });
  const answer = opened(await transport.call(request, quiet), request);
  assert.deepEqual(answer['result'], { text });
}

/** Behavior required of every pair of server and client. */
export function describeTransport(under: TransportUnderTest): void {
  describe(`transport ${under.protocol}`, () => {
    describeCalls(under);
    describeLoss(under);
    describeTls(under);
  });
}

function describeCalls(under: TransportUnderTest): void {
  it('carries a request and its response byte for byte, with token and trace', async (t) => {
    const { manager, transport } = await setUp(t, under);
    const request = submit('Echo', { text: 'Grüße \u0000 <&> ]]> \u{1f600}'.replace('\u0000', '') });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const response = await transport.call(request, { ...quiet, token: 'a.b.c', traceparent });
    assert.deepEqual(opened(response, request)['result'], { text: 'Grüße  <&> ]]> \u{1f600}' });
    assert.deepEqual(
      { ...response, payload: null, mac: response.mac.length },
      {
        key_id: request.key_id,
        timestamp_ms: 1_700_000_000_001,
        nonce: request.nonce,
        client: request.client,
        audience: request.audience,
        method: 'submit',
        correlation_id: '0190a7b2-0000-7000-8000-000000000001',
        sequence: 0,
        payload: null,
        mac: 32,
      },
    );
    const [received] = manager.received;
    assert.deepEqual(plain(received!.request), plain(request));
    assert.equal(received!.ingress, under.protocol);
    assert.equal(received!.token, 'a.b.c');
    assert.equal(received!.traceparent, traceparent);
    assert.equal(received!.peer, null);
    assert.equal(received!.remoteAddress, '127.0.0.1');
    await transport.call(submit('Echo', {}), quiet);
    assert.equal(manager.received[1]!.token, null);
    assert.equal(manager.received[1]!.traceparent, null);
  });

  it('serves without TLS on loopback', async (t) => {
    const { transport } = await setUp(t, under, { plain: true });
    await echoed(transport);
  });

  it('carries every method', async (t) => {
    const { transport } = await setUp(t, under);
    for (const method of ['poll', 'cancel', 'ack', 'events', 'event', 'status'] as const) {
      const request = seal(method, {});
      const response = await transport.call(request, quiet);
      assert.equal(response.method, method);
      assert.deepEqual(opened(response, request), { status: 'ok' });
    }
  });

  it('handles concurrent calls, each with its own response', async (t) => {
    const { transport } = await setUp(t, under);
    await Promise.all(Array.from({ length: 300 }, (_, index) => echoed(transport, `call ${index}`)));
  });

  it('lets short calls through while tasks occupy every slot', async (t) => {
    const { manager, transport } = await setUp(t, under);
    const requests = Array.from({ length: 150 }, (_, index) => submit('Hold', { index }));
    const answers = requests.map((request) => transport.call(request, quiet));
    await eventually(() => manager.held.length > 40, 'tasks to be held');
    const request = seal('cancel', { correlation_id: 'any' });
    assert.deepEqual(opened(await transport.call(request, quiet), request), { status: 'ok' });
    const letting = setInterval(() => manager.letGo(), 5);
    t.after(() => clearInterval(letting));
    for (const [index, answer] of answers.entries())
      assert.deepEqual(opened(await answer, requests[index]!)['result'], { index });
  });

  it('carries three megabytes there and eight back', async (t) => {
    const { transport } = await setUp(t, under);
    const large = submit('Echo', { text: 'ä'.repeat(1_500_000) });
    assert.equal(
      (opened(await transport.call(large, quiet), large)['result'] as { text: string }).text.length,
      1_500_000,
    );
    const back = submit('Big', { bytes: 8 * 1024 * 1024 });
    assert.equal((opened(await transport.call(back, quiet), back)['result'] as string).length, 8 * 1024 * 1024);
  });

  it('rejects an oversized request before sending it, and keeps working', async (t) => {
    const { manager, transport } = await setUp(t, under);
    const request = seal('submit', Buffer.alloc(6 * 1024 * 1024, 0x20));
    await assert.rejects(
      transport.call(request, quiet),
      (error) => error instanceof RemoteFailure && error.code === 'MALFORMED',
    );
    assert.equal(manager.received.length, 0);
    await echoed(transport);
  });

  it('returns errors: signed ones unchanged, unsigned ones with their code', async (t) => {
    const { transport } = await setUp(t, under);
    const forged = { ...submit('Echo', {}), mac: Buffer.alloc(32) };
    const signed = await transport.call(forged, quiet);
    assert.equal(signed.mac.length, 32);
    assert.equal(opened(signed, forged)['code'], 'INVALID_CHECKSUM');
    const unknown = { ...submit('Echo', {}), key_id: 'other' };
    const unsigned = await transport.call(unknown, quiet);
    assert.equal(unsigned.mac.length, 0);
    const payload = opened(unsigned, unknown);
    assert.equal(payload['code'], 'UNAUTHENTICATED');
    assert.equal(payload['status'], 'error');
    assert.equal(payload['message'], 'The key other is unknown');
    await echoed(transport);
  });

  it('passes on progress responses if the protocol has them', async (t) => {
    const { transport } = await setUp(t, under);
    const seen: unknown[] = [];
    const request = submit('Steps', {});
    const onProgress = (response: Parameters<NonNullable<CallOptions['onProgress']>>[0]): void =>
      void seen.push([response.sequence, opened(response, request)['message']]);
    assert.equal(opened(await transport.call(request, { ...quiet, onProgress }), request)['result'], 'done');
    assert.deepEqual(
      seen,
      under.progress
        ? [
            [0, 'one'],
            [1, 'two'],
          ]
        : [],
    );
  });
}

function describeLoss(under: TransportUnderTest): void {
  it('aborts a call with its caller, and keeps serving', async (t) => {
    const { manager, transport } = await setUp(t, under);
    const controller = new AbortController();
    const call = failureOf(transport.call(submit('Hold', {}), { ...quiet, signal: controller.signal }));
    await eventually(() => manager.held.length === 1, 'the task to be held');
    controller.abort(new Error('enough'));
    const failure = await call;
    assert.equal(failure.maybeReceived, true);
    assert.equal((failure.cause as Error).message, 'enough');
    await echoed(transport);
    const before = await failureOf(transport.call(submit('Echo', {}), { ...quiet, signal: controller.signal }));
    assert.equal(before.maybeReceived, false);
    assert.equal(manager.received.length, 2);
  });

  it('reports that nothing was received if nothing listens', async (t) => {
    const { listener, transport } = await setUp(t, under);
    await listener.close(0);
    const failure = await failureOf(transport.call(submit('Echo', {}), quiet));
    assert.equal(failure.maybeReceived, false);
    assert.match(failure.message, /127\.0\.0\.1/);
  });

  it('reports that a request may have been received if the executor disappears', async (t) => {
    const { manager, listener, transport } = await setUp(t, under);
    const call = failureOf(transport.call(submit('Hold', {}), quiet));
    await eventually(() => manager.held.length === 1, 'the task to be held');
    await listener.close(0);
    assert.equal((await call).maybeReceived, true);
    await eventually(() => manager.aborted === 1, 'the manager to be notified');
  });

  it('notifies the manager that a connection is gone', async (t) => {
    const { manager, transport } = await setUp(t, under);
    const call = failureOf(transport.call(submit('Hold', {}), quiet));
    await eventually(() => manager.held.length === 1, 'the task to be held');
    await transport.close();
    assert.equal((await call).maybeReceived, true);
    await eventually(() => manager.aborted === 1, 'the signal to abort');
    assert.equal((await failureOf(transport.call(submit('Echo', {}), quiet))).maybeReceived, false);
  });

  it('reconnects when the executor is back', async (t) => {
    const { manager, listener, transport, serverTls } = await setUp(t, under);
    await echoed(transport);
    await listener.close(0);
    await failureOf(transport.call(submit('Echo', {}), quiet));
    const { host, port } = listener.address;
    const again = await under.open({ manager, host, port, tls: serverTls, clock: systemClock, log: silentLogger });
    t.after(() => again.close(0));
    await eventually(
      () =>
        echoed(transport).then(
          () => true,
          () => false,
        ),
      'the transport to reconnect',
    );
  });

  it('finishes calls in progress before it closes', async (t) => {
    const { manager, listener, transport, certs } = await setUp(t, under);
    const request = submit('Hold', { index: 1 });
    const answer = transport.call(request, quiet);
    await eventually(() => manager.held.length === 1, 'the task to be held');
    const closed = listener.close(20_000);
    const late = under.transport({ ...transport.endpoint }, { ca: certs.authority.pem }, systemClock);
    t.after(() => late.close());
    assert.equal((await failureOf(late.call(submit('Echo', {}), quiet))).maybeReceived, false);
    manager.letGo();
    assert.deepEqual(opened(await answer, request)['result'], { index: 1 });
    await closed;
  });
}

function describeTls(under: TransportUnderTest): void {
  it('requires TLS to listen beyond loopback', async () => {
    const given = { manager: new StandInManager(), port: 0, tls: null, clock: systemClock, log: silentLogger };
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com'])
      await assert.rejects(async () => under.open({ ...given, host }), /certificate/);
  });

  it('requires TLS to send beyond loopback', () => {
    const endpoint = { protocol: under.protocol, host: '192.0.2.1', port: 1, tls: false };
    assert.throws(() => under.transport(endpoint, null, systemClock), /TLS/);
  });

  it('sends nothing to an executor with a certificate of another authority or name', async (t) => {
    const { manager, connect, certs, clientTls } = await setUp(t, under);
    const strange = connect({ ca: certs.strangerAuthority.pem });
    assert.equal((await failureOf(strange.call(submit('Echo', {}), quiet))).maybeReceived, false);
    const misnamed = connect({ ...clientTls, servername: 'other.example' });
    assert.equal((await failureOf(misnamed.call(submit('Echo', {}), quiet))).maybeReceived, false);
    await echoed(connect({ ...clientTls, servername: 'localhost' }));
    assert.equal(manager.received.length, 1);
  });

  it('requires a client certificate of its authorities if configured', async (t) => {
    const { manager, connect, certs, clientTls } = await setUp(t, under, { mutual: true });
    const bare = await failureOf(connect(clientTls).call(submit('Echo', {}), quiet));
    assert.equal(bare.maybeReceived, false);
    const { stranger, client } = certs;
    const foreign = connect({ ...clientTls, cert: stranger.pem, key: stranger.key });
    assert.equal((await failureOf(foreign.call(submit('Echo', {}), quiet))).maybeReceived, false);
    await echoed(connect({ ...clientTls, cert: client.pem, key: client.key }));
    assert.equal(manager.received.length, 1);
    assert.deepEqual(manager.received[0]!.peer?.names, ['tester']);
    assert.match(manager.received[0]!.peer.fingerprint, /^[0-9A-F:]{95}$/);
  });

  it('rejects plain text on a TLS listener, and TLS on a plain one', async (t) => {
    const { manager, transport, connect } = await setUp(t, under);
    await failureOf(connect(null, false).call(submit('Echo', {}), quiet));
    assert.equal(manager.received.length, 0);
    await echoed(transport);
    const plainSetup = await setUp(t, under, { plain: true });
    const secure = plainSetup.connect(plainSetup.clientTls, true);
    assert.equal((await failureOf(secure.call(submit('Echo', {}), quiet))).maybeReceived, false);
    await echoed(plainSetup.transport);
  });

  it('uses a new certificate for new connections and keeps the old ones', async (t) => {
    const { listener, transport, connect, certs, serverTls, clientTls } = await setUp(t, under);
    await echoed(transport);
    const { strangerAuthority } = certs;
    const renewed = await makeCertificate({ name: 'executor', names: ['127.0.0.1'], issuer: strangerAuthority });
    listener.reloadTls({ ...serverTls, cert: renewed.pem, key: renewed.key });
    await echoed(transport);
    await echoed(connect({ ca: strangerAuthority.pem }));
    assert.equal((await failureOf(connect(clientTls).call(submit('Echo', {}), quiet))).maybeReceived, false);
    assert.throws(() => listener.reloadTls({ ...serverTls, cert: 'not a certificate' }));
    await echoed(connect({ ca: strangerAuthority.pem }));
  });
}

function plain(request: SignedRequest): object {
  const { payload, mac, ...fields } = request;
  return { ...fields, payload: Buffer.from(payload).toString(), mac: Buffer.from(mac).toString('hex') };
}
