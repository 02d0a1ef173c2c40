import { constants } from 'node:fs';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

import { HeddleError } from '@heddle/base/errors';
import { messageOf } from '@heddle/base/thrown';
import type { Tier } from '../protocol/messages.ts';
import { engineOutput } from './engine-command.ts';
import { isKubernetes, kubectl } from './kubernetes-command.ts';
import { TASK_LABEL } from './kubernetes-job.ts';
import type { KubernetesLauncher } from './kubernetes-launcher.ts';
import type { TierSettings } from './options.ts';
import type { EventCode, ExecutionTier } from './port.ts';
import { failed } from './outcome.ts';
import type { Stage } from './stage.ts';

/** Commands required by each tier on Linux, with their Debian packages. */
const COMMANDS: Readonly<Record<Tier, Readonly<Record<string, string>>>> = {
  pooled: { prlimit: 'util-linux', setpriv: 'util-linux' },
  process: { prlimit: 'util-linux', setpriv: 'util-linux' },
  jail: { prlimit: 'util-linux', bwrap: 'bubblewrap' },
  container: {},
};

/** @throws HeddleError VALIDATION_FAILED, naming missing commands and their packages */
export async function requireCommands(tier: Tier, settings: TierSettings): Promise<void> {
  if (tier === 'jail' && process.platform !== 'linux') {
    throw tierUnavailable(tier, 'it needs namespaces, which only Linux has; use the tier container or process');
  }
  if (tier === 'container')
    return isKubernetes(settings.container) ? requireCluster(settings) : requireEngine(settings);
  if (process.platform !== 'linux') return;
  const path = settings.environment['PATH'] ?? '';
  for (const [command, debianPackage] of Object.entries(COMMANDS[tier])) {
    if (await isInPath(command, path)) continue;
    throw tierUnavailable(
      tier,
      `the command ${command} was not found in ${path}; install the package ${debianPackage}`,
    );
  }
}

export function tierUnavailable(tier: Tier, reason: string): HeddleError {
  return new HeddleError('VALIDATION_FAILED', `The tier ${tier} is not available on this machine: ${reason}`);
}

async function isInPath(command: string, path: string): Promise<boolean> {
  for (const folder of path.split(delimiter)) {
    try {
      await access(join(folder, command), constants.X_OK);
      return true;
    } catch {
      // Not in this directory.
    }
  }
  return false;
}

/** Verifies that the engine has the image, because tasks never pull it. */
async function requireEngine({ container, clock, startMs }: TierSettings): Promise<void> {
  const { command, image } = container;
  const args = ['image', 'inspect', '--format', '{{.Id}}', image];
  const { ok, text } = await engineOutput(container, args, clock, startMs);
  if (ok) return;
  const why = text.trim() || 'it was killed';
  throw tierUnavailable(
    'container',
    `${command} could not inspect the image ${image}: ${why}; start the engine and pull the image (${command} pull ${image})`,
  );
}

/** Permissions that the executor needs in a cluster. */
const CLUSTER_RIGHTS = [
  ['create', 'jobs'],
  ['get', 'jobs'],
  ['list', 'jobs'],
  ['watch', 'jobs'],
  ['delete', 'jobs'],
  ['get', 'pods'],
  ['list', 'pods'],
  ['create', 'pods', '--subresource=exec'],
] as const;

async function requireCluster(settings: TierSettings): Promise<void> {
  const { command } = settings.container;
  for (const right of CLUSTER_RIGHTS) {
    await kubectl(settings, ['auth', 'can-i', ...right], { withinMs: settings.startMs }).catch((error: unknown) => {
      const why = messageOf(error);
      throw tierUnavailable(
        'container',
        `the cluster does not allow ${command} ${right.join(' ')}: ${why}; set KUBECONFIG to a cluster and a role with this permission`,
      );
    });
  }
}

/** @throws HeddleError VALIDATION_FAILED if tasks in the cluster would have network access */
export async function requireNoNetwork(launcher: KubernetesLauncher): Promise<void> {
  await launcher.requireNoNetwork().catch((error: unknown) => {
    const why = messageOf(error);
    throw tierUnavailable(
      'container',
      `a probe pod has network access: ${why}; create a NetworkPolicy that denies all ingress and egress ` +
        `of pods with the label ${TASK_LABEL.name}=${TASK_LABEL.value}, on a cluster that enforces network policies`,
    );
  });
}

/** Event that returns its arguments, in the form that defineEvent creates. */
const PROBE = `
export default Object.freeze({
  [Symbol.for('heddle.event')]: true,
  name: 'probe', schema: null, run: (args) => args,
  timeout_secs: null, memory_mb: null, tier: null, idempotent: true,
});
`;

/** Runs a probe task and requires the exact result. @throws HeddleError VALIDATION_FAILED */
export async function probeTier(tier: ExecutionTier, stage: Stage, settings: TierSettings): Promise<void> {
  const directory = join(stage.directory, 'probe');
  await mkdir(directory, { mode: 0o755 });
  await writeFile(join(directory, 'probe.mjs'), PROBE, { mode: 0o444 });
  const code: EventCode = { digest: 'probe', directory, entry: 'probe.mjs' };
  const args = Buffer.from('{"probe":"works"}');
  const outcome = await tier
    .run(
      {
        correlation_id: 'probe',
        event_name: 'probe',
        client: null,
        code,
        args,
        timeout_ms: settings.startMs,
        memory_mb: settings.memoryMb,
        result_bytes_max: 1_024,
        traceparent: null,
      },
      { signal: new AbortController().signal, onProgress: () => undefined, onStart: () => undefined },
    )
    .catch((error: unknown) => failed('INTERNAL', String(error)));
  if (outcome.status === 'success' && args.equals(outcome.result)) return;
  const reason = outcome.status === 'success' ? 'it returned a wrong result' : `${outcome.code}: ${outcome.message}`;
  throw tierUnavailable(tier.tier, `the probe task failed: ${reason}`);
}
