import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import '../src/security/reflect-metadata.ts';
import * as x509 from '@peculiar/x509';
import { X509Certificate } from 'node:crypto';

import { alternativeNames, describePeer, startSweep } from '../src/listener.ts';
import { VirtualClock } from '@heddle/base/clock';
import { makeCertificate } from '@heddle/test-support/certificates';

describe('names of certificates', () => {
  it('include DNS names and URIs, but nothing forged inside them', async () => {
    const names = new x509.SubjectAlternativeNameExtension([
      { type: 'dns', value: 'worker.example' },
      { type: 'url', value: 'heddle:client:tester' },
      { type: 'ip', value: '127.0.0.1' },
      { type: 'email', value: 'someone@example.com' },
      { type: 'url', value: 'heddle:client:a, DNS:forged' },
    ]);
    const { der } = await makeCertificate({ name: 'tester', names: [], extensions: [names] });
    const peer = describePeer(new X509Certificate(der));
    assert.deepEqual(peer.names, ['worker.example', 'heddle:client:tester', 'heddle:client:a, DNS:forged']);
    assert.match(peer.fingerprint, /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  });

  it('are empty if the list cannot be parsed', () => {
    assert.deepEqual(alternativeNames(''), []);
    assert.deepEqual(alternativeNames('DNS:a, DNS:b'), ['a', 'b']);
    assert.deepEqual(alternativeNames('URI:"a, DNS:b", DNS:c'), ['a, DNS:b', 'c']);
    assert.deepEqual(alternativeNames('nonsense'), []);
  });
});

describe('the deadline sweep', () => {
  it('runs a few times within the shortest deadline, on one timer', async () => {
    const clock = new VirtualClock();
    const swept: number[] = [];
    const stop = startSweep(clock, [400, 10_000], (nowMs) => swept.push(nowMs));
    await clock.advance(400);
    assert.deepEqual(swept, [100, 200, 300, 400]);
    assert.equal(clock.timers, 1);
    stop();
    assert.equal(clock.timers, 0);
  });
});
