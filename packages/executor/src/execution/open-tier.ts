import { chmod, copyFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';

import { messageOf } from '@heddle/base/thrown';
import type { Tier } from '../protocol/messages.ts';
import { ContainerLauncher } from './container-launcher.ts';
import { ControlGroups } from './control-groups.ts';
import { SingleUseTier } from './single-use-tier.ts';
import { JailLauncher } from './jail-launcher.ts';
import { isKubernetes } from './kubernetes-command.ts';
import { KubernetesLauncher } from './kubernetes-launcher.ts';
import type { Launcher } from './launcher.ts';
import { type Baseline, measureBaseline } from './limits.ts';
import { type TierOptions, type TierSettings, withDefaults } from './options.ts';
import { PooledTier } from './pooled-tier.ts';
import type { ExecutionTier } from './port.ts';
import { tierUnavailable, probeTier, requireCommands, requireNoNetwork } from './probe.ts';
import { PrivateTmp } from './private-tmp.ts';
import { type LauncherParts, ProcessLauncher } from './process-launcher.ts';
import { Slots } from './slots.ts';
import { isReachable, Stage } from './stage.ts';
import { Starter } from './starter/starter.ts';

/**
 * Opens a tier and runs a task in it to verify that it works.
 *
 * @throws HeddleError VALIDATION_FAILED if the machine does not support it, naming what is missing and the remedy
 */
export async function openTier(tier: Tier, options: TierOptions): Promise<ExecutionTier> {
  const settings = withDefaults(options);
  await requireCommands(tier, settings);
  const stage = await Stage.make(settings.directory);
  const groups = settings.controlGroups ? ControlGroups.open(settings.clock, groupName(stage)) : null;
  let starter: Starter | null = null;
  const release = async (): Promise<void> => {
    await starter?.close();
    groups?.close();
    await stage.remove();
  };
  try {
    const privateTmp = await privateTmpOf(tier, stage, settings);
    const node = await reachableNode(stage, privateTmp);
    const { clock, log } = settings;
    const { starter: script, directory } = stage;
    starter = await Starter.open({ script, node, directory, clock, log }).catch((error: unknown) => {
      throw tierUnavailable(tier, messageOf(error));
    });
    const opened = await makeTier(tier, await partsOf({ settings, stage, groups, node, starter, privateTmp }), release);
    await probeTier(opened, stage, settings);
    return opened;
  } catch (error) {
    await release();
    throw error;
  }
}

async function makeTier(tier: Tier, parts: LauncherParts, release: () => Promise<void>): Promise<ExecutionTier> {
  const { settings } = parts;
  switch (tier) {
    case 'pooled':
      return new PooledTier(new ProcessLauncher(tier, parts), settings, release);
    case 'process':
      return new SingleUseTier(new ProcessLauncher(tier, parts), settings, release);
    case 'jail':
      return new SingleUseTier(await JailLauncher.make(parts), settings, release);
    case 'container':
      return new SingleUseTier(await containerLauncher(parts), settings, release);
  }
}

async function containerLauncher(parts: LauncherParts): Promise<Launcher> {
  if (!isKubernetes(parts.settings.container)) return new ContainerLauncher(parts);
  const launcher = new KubernetesLauncher(parts);
  await requireNoNetwork(launcher);
  return launcher;
}

async function partsOf(parts: Omit<LauncherParts, keyof Baseline | 'slots'>): Promise<LauncherParts> {
  const { node, settings } = parts;
  const isMeasured = process.platform === 'linux';
  const baseline = isMeasured
    ? await measureBaseline(node, settings.environment)
    : { baselineBytes: 0, threadBytes: 0 };
  return { ...parts, ...baseline, slots: new Slots(settings.users) };
}

/**
 * Opens private temporary directories for the tiers that see the machine's files; other tiers have their own file
 * system.
 */
async function privateTmpOf(tier: Tier, stage: Stage, settings: TierSettings): Promise<PrivateTmp | null> {
  const { tmpBytes, environment, clock, startMs, log } = settings;
  if ((tier !== 'pooled' && tier !== 'process') || !settings.privateTmp) return null;
  const { directory } = stage;
  const options = { bytesMax: tmpBytes, stage: directory, environment, clock, withinMs: startMs };
  const opened = await PrivateTmp.open(options);
  if (typeof opened === 'string') {
    log.warn(
      { tier, reason: opened },
      'no private temporary directories; tasks share /tmp, /var/tmp and /dev/shm with the machine and can fill them',
    );
    return null;
  }
  stage.hide((path) => opened.covers(path));
  return opened;
}

/** Returns this Node executable, or a copy if the users of tasks cannot reach it. */
async function reachableNode(stage: Stage, privateTmp: PrivateTmp | null): Promise<string> {
  const node = await realpath(process.execPath);
  const isHidden = privateTmp?.covers(node) ?? false;
  if (!isHidden && (process.getuid?.() !== 0 || (await isReachable(node)))) return node;
  const copy = join(stage.directory, 'node');
  await copyFile(node, copy);
  await chmod(copy, 0o755);
  return copy;
}

function groupName(stage: Stage): string {
  return stage.directory.slice(stage.directory.lastIndexOf('/') + 1);
}
