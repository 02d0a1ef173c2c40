/** The network of the example `attack-surface`: its services, and that it is restored. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';

import { respond } from '../../examples/attack-surface/name-server.ts';
import { keyOf, renewalsOf, servicesOf, ZONE } from '../../examples/attack-surface/plan.ts';
import { startServices, type SurfaceServices } from '../../examples/attack-surface/services.ts';
import { surfaceWorkflow } from '../../examples/attack-surface/workflow.ts';
import { lookUp, makeZone } from '../../examples/attack-surface/zone.ts';

const directories: string[] = [];
const running: SurfaceServices[] = [];
after(async () => {
  await Promise.all(running.map((services) => services.close()));
  for (const directory of directories) rmSync(directory, { recursive: true });
});

function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-surface-'));
  directories.push(directory);
  return directory;
}

async function start(directory = temporary()): Promise<SurfaceServices> {
  const services = await startServices({ directory });
  running.push(services);
  return services;
}

const firstPortOf = ({ ports }: SurfaceServices): number => Number(ports.split('-')[0]);

/** The banner of a service; null if nothing listens. */
async function greetingOf(host: number, port: number): Promise<string | null> {
  const socket = connect(port, `127.0.10.${host}`);
  try {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    return chunk.toString().trim();
  } catch {
    return null;
  } finally {
    socket.destroy();
  }
}

interface Shown {
  certificate: X509Certificate;
  protocol: string | null;
}

async function shownAt(host: number, port: number, options: ConnectionOptions = {}): Promise<Shown> {
  const socket = connectTls({ host: `127.0.10.${host}`, port, rejectUnauthorized: false, ...options });
  await once(socket, 'secureConnect');
  const certificate = new X509Certificate(socket.getPeerCertificate().raw);
  const shown = { certificate, protocol: socket.getProtocol() };
  socket.destroy();
  return shown;
}

describe('the network of the attack surface', () => {
  test('each generation has one service more, one less, one changed banner, and one renewed certificate', () => {
    for (let generation = 0; generation < 9; generation += 1) {
      const [before, now] = [servicesOf(generation), servicesOf(generation + 1)];
      const keys = new Set(before.map(keyOf));
      assert.equal(keys.size, before.length, 'no two services at one place');
      assert.equal(now.filter((service) => !keys.has(keyOf(service))).length, 1);
      assert.equal(now.length, before.length);
      const roles = new Map(before.map((service) => [keyOf(service), JSON.stringify(service.role)]));
      const changed = now.filter(
        (each) => roles.has(keyOf(each)) && roles.get(keyOf(each)) !== JSON.stringify(each.role),
      );
      assert.equal(changed.length, 1);
      const names = ['www', 'api', 'mail', 'shop', 'git', 'vpn', 'legacy'] as const;
      const renewed = names.filter((name) => renewalsOf(name, generation + 1) > renewalsOf(name, generation));
      assert.equal(renewed.length, 1, `${generation}: ${renewed.join()}`);
    }
  });

  test('its certificates are valid, expired, self-signed, mismatched and weak', async () => {
    const services = await start();
    const port = firstPortOf(services) + 443;
    const now = Date.now();
    const { certificate: sound, protocol } = await shownAt(1, port);
    assert.equal(protocol, 'TLSv1.3');
    assert.ok(Date.parse(sound.validTo) > now && sound.checkHost(`www.${ZONE}`) && sound.checkIP('127.0.10.1'));
    assert.match(sound.issuer, /Surface Test Authority/);
    assert.ok(Date.parse((await shownAt(4, port)).certificate.validTo) < now, 'expired');
    const { certificate: selfSigned } = await shownAt(5, port);
    assert.equal(selfSigned.issuer, selfSigned.subject);
    const { certificate: wrong } = await shownAt(6, port);
    assert.equal(wrong.checkHost(`vpn.${ZONE}`), undefined);
    assert.equal(wrong.checkIP('127.0.10.6'), undefined);
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
    const { certificate: weak, protocol: weakProtocol } = await shownAt(7, port, old);
    assert.equal(weakProtocol, 'TLSv1');
    assert.equal(weak.publicKey.asymmetricKeyDetails!.modulusLength, 1024);
  });

  test('it changes on request, is restored as it was, and keeps its keys private', async () => {
    const directory = temporary();
    const first = await start(directory);
    const port = firstPortOf(first);
    assert.equal(await greetingOf(9, port + 80), `220 build.${ZONE} agent 4.0 ready`);
    const before = (await shownAt(1, port + 443)).certificate.fingerprint256;
    const api = (await shownAt(2, port + 443)).certificate.fingerprint256;
    await first.advance();
    assert.equal(await greetingOf(9, port + 80), `220 build.${ZONE} agent 4.1 ready`);
    const renewed = (await shownAt(1, port + 443)).certificate;
    assert.notEqual(renewed.fingerprint256, before);
    await first.close();
    assert.equal(await greetingOf(9, port + 80), null, 'nothing listens any more');

    const second = await start(directory);
    assert.equal(second.ports, first.ports);
    assert.equal(await greetingOf(9, port + 80), `220 build.${ZONE} agent 4.1 ready`);
    assert.equal((await shownAt(1, port + 443)).certificate.fingerprint256, renewed.fingerprint256);
    assert.equal((await shownAt(2, port + 443)).certificate.fingerprint256, api);
    assert.equal(statSync(join(directory, 'services.json')).mode & 0o077, 0);
    await second.close();
  });

  test('if its ports are in use, it uses others for all services', async () => {
    const directory = temporary();
    const first = await start(directory);
    const port = firstPortOf(first);
    await first.close();
    const occupier = createServer((socket: Socket) => socket.destroy()).listen(port + 22, '127.0.10.5');
    await once(occupier, 'listening');
    const second = await start(directory);
    occupier.close();
    assert.notEqual(second.ports, first.ports);
    assert.equal(second.count, servicesOf(0).length);
    await second.close();
  });

  test('only loopback is scanned, at a low rate', async () => {
    const services = await start();
    const { addresses, ports, resolver } = services;
    assert.match(addresses, /^127\.0\.10\.1-127\.0\.10\.20$/);
    const told = { url: 'http://127.0.0.1:1/told', key: 'k' };
    const text = JSON.stringify(surfaceWorkflow({ addresses, ports, resolver, told }));
    assert.deepEqual([...new Set(text.match(/\b\d+\.\d+\.\d+\.\d+\b/g)!.map((ip) => ip.split('.')[0]))], ['127']);
    assert.ok(text.match(/"rate":\d+/g)!.every((rate) => Number(rate.split(':')[1]) < 1000));
    await services.close();
  });
});

describe('its name server', () => {
  const zone = makeZone((host) => `127.0.10.${host}`);
  const texts = (name: string, type: string): string[] =>
    lookUp(zone, name, type).answers.map(({ answer }) => ('value' in answer ? answer.value : answer.exchange));

  test('follows aliases, answers for every name below its wildcard, and reports missing names', () => {
    assert.deepEqual(texts(`assets.${ZONE}`, 'A'), [`cdn.${ZONE}`, `www.${ZONE}`, '127.0.10.1']);
    assert.deepEqual(texts(`anything.apps.${ZONE}`, 'A'), ['127.0.10.1']);
    assert.deepEqual(texts(ZONE, 'MX'), [`mail.${ZONE}`]);
    assert.deepEqual(texts('5.10.0.127.in-addr.arpa', 'PTR'), [`git.${ZONE}`]);
    assert.deepEqual(lookUp(zone, `apps.${ZONE}`, 'A'), { exists: true, answers: [] });
    assert.equal(lookUp(zone, `nowhere.${ZONE}`, 'A').exists, false);
  });

  test('ignores messages that are not queries, and refuses other zones', () => {
    assert.equal(respond(zone, ZONE, Buffer.from('no question at all'), 512)![3]! & 0xf, 1);
    assert.equal(respond(zone, ZONE, Buffer.alloc(3), 512), null);
    const question = Buffer.concat([
      Buffer.from([1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
      Buffer.from('\u0007example\u0004test\0', 'latin1'),
      Buffer.from([0, 1, 0, 1]),
    ]);
    const refused = respond(zone, ZONE, question, 512)!;
    assert.equal(refused[3]! & 0xf, 5);
    for (let cut = 12; cut < question.length; cut += 1) {
      const answer = respond(zone, ZONE, question.subarray(0, cut), 512);
      assert.equal(answer![3]! & 0xf, 1, `cut after ${cut} bytes`);
    }
  });
});
