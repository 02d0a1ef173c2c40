/** What a scan stores: chunks, results, and models of records. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { MODEL_DATA_BYTES_MAX } from '@heddle/core/domain/model-record';
import { modelsOfName } from '../../../src/kinds/recon/models-of-names.ts';
import { modelsOfPort } from '../../../src/kinds/recon/models-of-ports.ts';
import { modelsOfTls } from '../../../src/kinds/recon/models-of-tls.ts';
import { RecordCollector } from '../../../src/kinds/recon/record-collector.ts';
import type { DnsRecord, PortRecord, TlsRecord } from '@heddle/recon/records';

const TASK = { task_id: '01900000-0000-7000-8000-000000000001', attempt: 3 };

describe('the records of a scan', () => {
  it('are in the result while they are few, else all of them in chunks', async () => {
    const chunks: unknown[][] = [];
    const books = {
      putChunk: (key: { attempt: number; ordinal: number }, records: readonly unknown[]) => {
        assert.deepEqual([key.attempt, key.ordinal], [3, chunks.length]);
        chunks.push([...records]);
        return Promise.resolve();
      },
    };
    const few = new RecordCollector({ books, ...TASK });
    for (let n = 0; n < 100; n += 1) await few.take({ n });
    assert.deepEqual([(await few.end()).records.length, chunks.length], [100, 0]);
    const many = new RecordCollector({ books, ...TASK });
    for (let n = 0; n < 1201; n += 1) await many.take({ n, text: 'a\0b\ud800' });
    const { records, chunks: count } = await many.end();
    assert.deepEqual([records.length, count, many.count, many.lost], [100, 3, 1201, 0]);
    assert.deepEqual(
      chunks.map((chunk) => chunk.length),
      [500, 500, 201],
    );
    assert.deepEqual(chunks[2]![200], { n: 1200, text: 'a\ufffdb\ufffd' }, 'storable in the database');
    chunks.length = 0;
    const large = new RecordCollector({ books, ...TASK });
    for (let n = 0; n < 100; n += 1) await large.take({ n, text: Array.from({ length: 20 }, () => 'x'.repeat(2000)) });
    const end = await large.end();
    assert.ok(end.chunks > 5 && end.records.length < 10, 'limited by size too');
    for (const chunk of chunks) assert.ok(JSON.stringify(chunk).length <= 520 * 1024);
  });

  it('are counted as lost if a worker has no database for them', async () => {
    const alone = new RecordCollector({ books: null, ...TASK });
    for (let n = 0; n < 5000; n += 1) await alone.take({ n, text: 'x'.repeat(1000) });
    const { records, chunks } = await alone.end();
    assert.equal(chunks, 0);
    assert.equal(records.length + alone.lost, 5000);
    assert.ok(records.length > 500 && JSON.stringify(records).length < 1024 * 1024);
  });
});

const AT = { rtt_ms: 1, timestamp: '2026-01-01T00:00:00.000Z' };

describe('the models of records', () => {
  const port: PortRecord = {
    ...{ type: 'port', host: 'a.test', ip: '::1', port: 443, protocol: 'tcp', state: 'open', reason: 'connected' },
    ...{ method: 'connect', ...AT },
  };

  it('are services on hosts, by address; a closed port is a host, a filtered one nothing', () => {
    assert.deepEqual(modelsOfPort(port), [
      { model: 'host', key: '::1', data: { ip: '::1', names: ['a.test'], ports: [443] } },
      { model: 'service', key: '[::1]:443/tcp', data: { ip: '::1', port: 443, protocol: 'tcp', names: ['a.test'] } },
    ]);
    assert.deepEqual(modelsOfPort({ ...port, state: 'closed' }), [
      { model: 'host', key: '::1', data: { ip: '::1', names: ['a.test'], ports: [] } },
    ]);
    assert.deepEqual(modelsOfPort({ ...port, state: 'filtered' }), []);
    const later = { ...port, method: 'syn' as const, rtt_ms: 9, timestamp: 'later', reason: 'syn-ack' };
    assert.deepEqual(modelsOfPort(later), modelsOfPort(port), 'the method is not a change');
  });

  it('are names with answers, regardless of order and time to live', () => {
    const record: DnsRecord = {
      ...{ type: 'dns', host: 'a.test', resolver: '127.0.0.1:53', query_type: 'A', status_code: 'NOERROR' },
      ...{ a: ['10.0.0.2', '10.0.0.1'], ttl: 60, ...AT },
    };
    const [name] = modelsOfName(record);
    assert.deepEqual(name, {
      model: 'name',
      key: 'a.test/A',
      data: { name: 'a.test', type: 'A', a: ['10.0.0.1', '10.0.0.2'] },
    });
    assert.deepEqual(modelsOfName({ ...record, a: ['10.0.0.1', '10.0.0.2'], ttl: 1, resolver: 'x' }), [name]);
    assert.deepEqual(modelsOfName({ ...record, status_code: 'SERVFAIL' }), []);
    const { a: _, ...empty } = record;
    assert.deepEqual(modelsOfName({ ...empty, ttl: null }), []);
    const [huge] = modelsOfName({
      ...empty,
      query_type: 'TXT',
      txt: Array.from({ length: 900 }, (_x, n) => `${n}`.padEnd(255)),
    });
    assert.ok(Buffer.byteLength(JSON.stringify(huge!.data)) <= MODEL_DATA_BYTES_MAX);
  });

  it('are endpoints and certificates, each with its own findings', () => {
    const sha256 = 'ab'.repeat(32);
    const record: TlsRecord = {
      ...{ type: 'tls', host: 'a.test', ip: '10.0.0.1', port: 443, sni: 'a.test', probe_status: true },
      ...{ tls_version: 'tls12', findings: ['expired', 'mismatched', 'weak_version'] },
      ...{ subject_cn: 'b.test', fingerprint_hash: { md5: 'm', sha1: 's', sha256 }, ...AT },
    };
    const [place, certificate] = modelsOfTls(record);
    assert.deepEqual([place!.key, place!.data['findings']], ['10.0.0.1:443/a.test', ['mismatched', 'weak_version']]);
    assert.deepEqual([certificate!.key, certificate!.data['findings']], [sha256, ['expired']]);
    assert.equal(modelsOfTls({ ...record, sni: null })[0]!.key, '10.0.0.1:443');
    const { fingerprint_hash: _, ...bare } = record;
    assert.equal(modelsOfTls(bare).length, 1);
    assert.deepEqual(modelsOfTls({ ...record, probe_status: false }), []);
  });
});
