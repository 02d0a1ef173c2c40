import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';

import type { ExecutionTier } from '../../src/execution/port.ts';
import { eventually } from '@heddle/test-support/eventually';
import { AttackCode, resultOf, run, tryTier } from '../support/execution/fixture.ts';

/** Named `kubectl`, by which the executor recognizes a cluster. */
const folder = mkdtempSync(join(tmpdir(), 'heddle-cluster-'));
chmodSync(folder, 0o755);
mkdirSync(join(folder, 'jobs'));
const command = join(folder, 'kubectl');
const script = join(import.meta.dirname, '../support/execution/stand-in-kubectl.ts');
writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`);
chmodSync(command, 0o755);
after(() => rmSync(folder, { recursive: true, force: true }));

const environment = { PATH: process.env['PATH'] ?? '', STAND_IN_FOLDER: folder };
const container = { command, image: 'stand-in-image', parameters: ['--namespace=tasks'], environment };
const hasBubblewrap = spawnSync('bwrap', ['--version']).status === 0;
const tier = hasBubblewrap
  ? await tryTier('container', { container })
  : 'the stand-in for the cluster needs bubblewrap';

/** Returns why the tier is unavailable. */
const describeTier = (given: ExecutionTier | string): string => (typeof given === 'string' ? given : given.tier);

const jobs = (): string[] => readdirSync(join(folder, 'jobs'));

interface Manifest {
  metadata: { labels: Record<string, string> };
  spec: {
    backoffLimit: number;
    activeDeadlineSeconds: number;
    template: {
      metadata: { labels: Record<string, string> };
      spec: {
        automountServiceAccountToken: boolean;
        terminationGracePeriodSeconds: number;
        securityContext: { runAsUser: number; seccompProfile: { type: string } };
        containers: {
          resources: { limits: Record<string, string> };
          securityContext: { capabilities: object; readOnlyRootFilesystem: boolean; allowPrivilegeEscalation: boolean };
        }[];
      };
    };
  };
}

if (!hasBubblewrap) test('Kubernetes jobs', (t) => t.skip(`NOT RUN: ${describeTier(tier)}`));
else {
  assert.ok(typeof tier !== 'string', describeTier(tier));
  describe('Kubernetes jobs, with a stand-in for kubectl', () => check(tier));
}

function check(tier: ExecutionTier): void {
  test('run a task with the copied code, and its output does not count as an answer', async () => {
    await using code = await AttackCode.make();
    const args = { a: 1 };
    assert.deepEqual(resultOf(await run(tier, code.module('healthy'), 'healthy', { args })), { got: args });
    assert.equal(resultOf(await run(tier, code.module('output'), 'output.stdout', { timeout_ms: 30_000 })), null);
    await eventually(() => jobs().length <= 1, 'only a spare job is left', 10_000);
  });

  test('are deleted with their processes if a task takes too long', async () => {
    await using code = await AttackCode.make();
    const outcome = await run(tier, code.module('time'), 'time.endless-loop', { timeout_ms: 300 });
    assert.equal(outcome.status === 'error' && outcome.code, 'TASK_TIMEOUT');
  });

  test('request every guarantee that the cluster can enforce', () => {
    const manifests = readFileSync(join(folder, 'manifests'), 'utf8').trim().split('\n');
    const { metadata, spec } = JSON.parse(manifests.at(-1)!) as Manifest;
    const { template } = spec;
    assert.deepEqual(metadata.labels, { 'heddle.dev/task': 'true' });
    assert.deepEqual(template.metadata.labels, metadata.labels);
    assert.deepEqual([spec.backoffLimit, spec.activeDeadlineSeconds], [0, 90_000]);
    const pod = template.spec;
    assert.deepEqual([pod.automountServiceAccountToken, pod.terminationGracePeriodSeconds], [false, 0]);
    assert.deepEqual(
      [pod.securityContext.runAsUser, pod.securityContext.seccompProfile.type],
      [65_534, 'RuntimeDefault'],
    );
    const { resources, securityContext } = pod.containers[0]!;
    assert.deepEqual(resources.limits, { cpu: '1', memory: '224Mi' });
    assert.deepEqual(securityContext, {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    });
  });

  test('are unavailable if the cluster denies a permission, which is named', async () => {
    const refusing = { ...container, environment: { ...environment, STAND_IN_REFUSES: '--subresource=exec' } };
    const refused = await tryTier('container', { container: refusing });
    assert.match(describeTier(refused), /does not allow \S+kubectl create pods --subresource=exec: .*no.*KUBECONFIG/s);
  });

  test('are unavailable if pods have network access, with the remedy', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const open = { ...container, environment: { ...environment, STAND_IN_NETWORK: String(port) } };
    const refused = await tryTier('container', { container: open });
    server.close();
    assert.match(describeTier(refused), /reached 127\.0\.0\.1:\d+; create a NetworkPolicy .* heddle\.dev\/task=true/s);
  });

  after(async () => {
    await tier.close();
    assert.deepEqual(jobs(), []);
  });
}
