import assert from 'node:assert/strict';
import { test } from 'node:test';

import { readPage, optionRows } from '@heddle/test-support/docs/pages';
import { PROBE_OPTIONS, RECON_OPTIONS, reconRequestOf, type ReconRequest } from '../../src/command/options.ts';
import { progressText } from '../../src/command/plan-text.ts';
import { recordTable } from '../../src/command/record-table.ts';
import type { DnsRecord, PortRecord } from '../../src/records.ts';

const TCP = reconRequestOf('tcp', ['127.0.0.1'], { '--rate': 0, '--host-rate': 5, '--banner': true });
const plain = (_style: unknown, text: string): string => text;

const PORT: PortRecord = {
  type: 'port',
  host: '::1',
  ip: '::1',
  port: 80,
  protocol: 'tcp',
  state: 'open',
  reason: 'connected',
  method: 'connect',
  rtt_ms: 0.123,
  timestamp: '2026-01-01T00:00:00.000Z',
};

test('the line shows progress, rate and results', () => {
  const progress = { done: 1204, total: 65_535, sent: 1300, found: 3 };
  assert.equal(progressText('tcp')(progress, 2000), '1,204 of 65,535 ports, 1,300 packets at 650/s, 3 open');
  assert.equal(progressText('dns')({ ...progress, total: 0 }, 0), '1,204 names, 1,300 queries at 0/s, 3 answers');
});

test('headers are printed once; columns grow if they are too narrow, and keep their width', () => {
  const row = recordTable(TCP, plain);
  const long = 'a-name-that-is-longer.than-usual.example.test';
  const lines = [row(PORT), row({ ...PORT, host: long, banner: 'x' }), row({ ...PORT, banner: 'y' })]
    .join('')
    .split('\n');
  assert.equal(lines.length, 5);
  assert.match(lines[0]!, /^ADDRESS +STATE +REASON +METHOD +RTT +NAME +BANNER$/);
  assert.match(lines[1]!, /^\[::1\]:80 +open +connected +connect +0\.12 ms$/);
  assert.equal(lines[3]!.indexOf('y'), lines[2]!.lastIndexOf('x'));
});

test('data from the network is printed as text, whatever it contains', () => {
  const row = recordTable({ ...TCP, probe: 'dns' } as unknown as ReconRequest, plain);
  const hostile: DnsRecord = {
    type: 'dns',
    host: 'a\u001b[2J.test',
    resolver: null,
    query_type: 'TXT',
    status_code: 'NOERROR',
    txt: ['line\nbreak\u202e', 'x'],
    mx: [{ preference: 1, exchange: 'mail\r.test' }],
    ttl: 1,
    wildcard: true,
    rtt_ms: 1,
    timestamp: PORT.timestamp,
  };
  const text = row(hostile);
  assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u202e]/);
  assert.equal(text.split('\n').length, 3);
  assert.match(text, /1 mail \.test, .*\(wildcard\)$/m);
});

test('a rate of 0 is unlimited', () => {
  assert.deepEqual([TCP.rate, TCP.hostRate], [Infinity, 5]);
});

test('the page lists every option as it is declared', () => {
  const tables = { 'all three': RECON_OPTIONS, tcp: PROBE_OPTIONS.tcp, dns: PROBE_OPTIONS.dns, tls: PROBE_OPTIONS.tls };
  const { text } = readPage('docs/cli.md');
  for (const [title, { Targets, Pace, Output }] of Object.entries(tables)) {
    const rows = optionRows({ ...Targets, ...Pace, ...Output });
    const table = [`| ${title} | default | |`, '| --- | --- | --- |', ...rows].join('\n');
    assert.ok(text.includes(`\n${table}\n`), `docs/cli.md lacks:\n${table}`);
  }
});
