/** Scans of TLS as whole workflows, on a real database, with real servers on loopback. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';

import type { TrackedModel } from '@heddle/core/domain/model-record';
import { ReconPolicy } from '../../../src/kinds/recon/policy.ts';
import { systemClock } from '@heddle/base/clock';
import { makeCertificate, type Issued } from '@heddle/test-support/certificates';
import { answering, serveTcp, serveTls } from '@heddle/test-support/tls-servers';
import { newReconBench, runWorkflow, type ReconBench } from '@heddle/test-support/kinds/recon/run-workflow';

const ALL = { after: null, limit: 10_000 };

describe('a scan of TLS as a workflow', () => {
  let bench: ReconBench;
  let good: Issued;
  let other: Issued;

  before(async () => {
    const policy = new ReconPolicy({ scope: ['example.test'], rate: 100_000, clock: systemClock });
    bench = await newReconBench({ policy });
    good = await makeCertificate({ name: 'www.example.test' });
    other = await makeCertificate({ name: 'other.example.test' });
  });

  after(() => bench.engine.close());

  const generator = (input: object) => ({
    kind: 'TlsScanGenerator',
    input: { rate: 50_000, host_rate: 50_000, timeout_ms: 2000, starttls: 'off', ...input },
  });
  const list = (target: string, model: string): Promise<TrackedModel[]> => bench.models.list({ target, model }, ALL);

  it('records TLS endpoints with their certificates, and detects a replaced one', async (t: TestContext) => {
    const first = await serveTls(t, [good]);
    const second = await serveTls(t, [good]);
    const plain = await serveTcp(t, answering(Buffer.from('220 hello\r\n'), true));
    const targets = [first, second, plain].map(({ port }) => `127.0.0.1:${port}`);
    const run = await runWorkflow(bench, generator({ target: 'tls', targets }));
    const merged = run.of('TlsScanAggregator')!;
    assert.deepEqual([run.state, merged['complete'], merged['new']], ['succeeded', true, 3]);
    assert.deepEqual(merged['counts'], { tls: 2, failed: 1 });
    const [certificate] = await list('tls', 'certificate');
    assert.deepEqual(
      certificate!.data['endpoints'],
      [first, second].map(({ port }) => `127.0.0.1:${port}`).sort(),
      'two places, one certificate',
    );
    assert.deepEqual(certificate!.data['subject_an'], ['www.example.test']);
    const endpoints = await list('tls', 'tls');
    assert.deepEqual(
      endpoints.map(({ data }) => data['certificate']),
      [certificate!.key, certificate!.key],
    );
    const again = (await runWorkflow(bench, generator({ target: 'tls', targets }))).of('TlsScanAggregator')!;
    assert.deepEqual([again['new'], again['changed'], again['known'], again['gone']], [0, 0, 3, 0]);
  });

  it('requests services by the names under which they were found', async (t: TestContext) => {
    const names: (string | false)[] = [];
    const server = await serveTls(t, [good], {
      SNICallback: (name, callback) => {
        names.push(name);
        callback(null);
      },
    });
    const id = '01900000-0000-7000-8000-000000000001';
    await bench.models.beginRun(id, 'services');
    const data = { ip: '127.0.0.1', port: server.port, protocol: 'tcp', names: ['a.example.test', 'b.example.test'] };
    const key = `127.0.0.1:${server.port}/tcp`;
    await bench.models.merge(id, [{ model: 'service', key, data }]);
    await bench.models.finishRun(id, { complete: true, covers: ['service'] });
    const run = await runWorkflow(
      bench,
      generator({ target: 'services', from: { model: 'service', target: 'services', where: 'item.data.port > 0' } }),
    );
    assert.equal(run.of('TlsScanAggregator')!['complete'], true);
    assert.deepEqual(new Set(names), new Set(['a.example.test', 'b.example.test']));
    const keys = (await list('services', 'tls')).map((each) => each.key).sort();
    assert.deepEqual(
      keys,
      ['a', 'b'].map((name) => `127.0.0.1:${server.port}/${name}.example.test`),
    );
    const [endpoint] = await list('services', 'tls');
    assert.ok((endpoint!.data['findings'] as string[]).includes('mismatched'));
    const [service] = await list('services', 'service');
    assert.equal(service!.state, 'new', 'a TLS scan does not affect services');
  });

  it('detects that another certificate is presented', async (t: TestContext) => {
    const servers = [good, other];
    const server = await serveTls(t, [good], { SNICallback: (_name, callback) => callback(null) });
    const input = { target: 'swap', targets: [`127.0.0.1:${server.port}`] };
    await runWorkflow(bench, generator(input));
    const port = server.port;
    const swapped = await serveTls(t, [servers[1]!]);
    const forwarded = { target: 'swap', targets: [`127.0.0.1:${swapped.port}`] };
    const merged = (await runWorkflow(bench, generator(forwarded))).of('TlsScanAggregator')!;
    assert.notEqual(port, swapped.port);
    assert.deepEqual([merged['new'], merged['gone']], [2, 2]);
    const states = (await list('swap', 'certificate')).map(({ data, state }) => [data['subject_cn'], state]);
    assert.deepEqual(states, [
      ['other.example.test', 'new'],
      ['www.example.test', 'gone'],
    ]);
  });
});
