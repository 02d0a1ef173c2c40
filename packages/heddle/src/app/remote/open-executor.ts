import { mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';

import { systemClock as clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { systemRandom as random } from '@heddle/base/random';
import { detailedMessageOf } from '@heddle/base/thrown';
import { openTracing } from '../process-parts.ts';
import { openAuditLog } from '@heddle/executor/audit/log';
import type { AuditLog } from '@heddle/executor/audit/port';
import type { AuditRetention } from '@heddle/executor/audit/retention';
import type { EventRegistry } from '@heddle/executor/events/port';
import { openEventRegistry } from '@heddle/executor/events/registry';
import type { Listener } from '@heddle/executor/listener';
import { createRemoteManager, type OpenRemoteManager } from '@heddle/executor/manager/manager';
import { createRemoteMetrics, type RemoteMetrics } from '@heddle/executor/observe/metrics';
import { createTaskTracing } from '@heddle/executor/observe/spans';
import type { Ingress } from '@heddle/executor/protocol/messages';
import { UnprovenMemory } from '@heddle/executor/unproven-memory';
import { UnprovenQueue } from '@heddle/executor/unproven-queue';
import { RevokedCertificates } from '@heddle/executor/security/revoked-certificates';
import { openAuthenticator } from '@heddle/executor/security/authenticator';
import { memoryKeyRing, openKeyRingFile, type KeyRing } from '@heddle/executor/security/key-ring';
import { CommandFailure } from '@heddle/base/terminal/failure';
import { VERSION } from '../package.ts';
import type { SettingValues } from '../settings.ts';
import type { StopSequence } from '../stop-sequence.ts';
import { lockDirectory } from './directory-lock.ts';
import { addressOf, openListeners } from './executor-listeners.ts';
import { listenerSettings } from './executor-settings-check.ts';
import { openTiers, type ExecutorTiers } from './executor-tiers.ts';
import { readListenerTls, watchListenerTls } from './executor-tls.ts';
import { warmEvents } from './warm-events.ts';
import type { ListenerAddress } from './executor-events.ts';

export interface Executor {
  readonly manager: OpenRemoteManager;
  readonly registry: EventRegistry;
  readonly tiers: ExecutorTiers;
  readonly listeners: readonly Listener[];
  readonly addresses: readonly ListenerAddress[];
  readonly dataDirectory: string;
}

interface Start {
  settings: SettingValues;
  log: Logger;
  stopping: StopSequence;
}

/** What every part of a start is given. */
interface Base extends Start {
  dataDirectory: string;
  metrics: RemoteMetrics;
  audit: AuditLog;
}

/**
 * Opens an executor's parts, lowest first; `stopping` closes what was opened.
 * @throws CommandFailure that names the failed part and the remedy
 */
export async function openExecutor(start: Start): Promise<Executor> {
  const { settings, log, stopping } = start;
  const dataDirectory = resolve(settings.executorDataDir);
  // Tasks run as other users, which traverse it on the way to their code; secrets have their own subdirectories.
  await mkdir(dataDirectory, { recursive: true, mode: 0o711 }).catch(failedIn(dataDirectory));
  const lock = await lockDirectory(dataDirectory).catch(failedIn(dataDirectory));
  stopping.add('the lock of the data directory', () => lock.release());
  const metrics = createRemoteMetrics({ processMetrics: true });
  const path = join(dataDirectory, 'audit', 'audit.log');
  const retention = auditRetention(settings);
  const audit = await openAuditLog({ path, clock, log, retention, onLost: (count) => metrics.auditLost(count) }).catch(
    failedIn(dataDirectory),
  );
  stopping.add('the audit log', () => audit.close());
  const base: Base = { ...start, dataDirectory, metrics, audit };
  const revoked = new RevokedCertificates();
  const tls = await readListenerTls(settings, { clock, log, revoked });
  const tiers = await openTiers(settings, log, stopping);
  const registry = await openRegistry(base, tiers);
  const listeners: Listener[] = [];
  const manager = await openManager(base, {
    tiers,
    registry,
    revoked,
    listening: () => listeners.map((each) => each.protocol),
  });
  const allowedHosts = settings.allowedRequestHosts;
  const memory = new UnprovenMemory(settings.executorUnprovenMaxMb * 1_048_576);
  const unproven = { memory, turns: new UnprovenQueue(clock) };
  const options = { manager, tls, registry: metrics.registry, allowedHosts, unproven, clock, log };
  const opened = await openListeners(listenerSettings(settings), options);
  listeners.push(...opened);
  const closeListeners = () => Promise.all(opened.map((listener) => listener.close(1_000)));
  stopping.add('the listeners', closeListeners);
  if (tls !== null) {
    const watch = await watchListenerTls(settings, opened, { clock, log, revoked });
    stopping.add('the watch over certificates', () => watch.close());
  }
  await warmEvents(registry, tiers, settings).catch((error: unknown) => {
    log.warn({ err: error }, 'could not start processes ahead');
  });
  const addresses = opened.map((listener) => addressOf(listener, tls !== null));
  return { manager, registry, tiers, listeners, addresses, dataDirectory };
}

function auditRetention({ executorAuditMaxMb, executorAuditKeepDays }: SettingValues): AuditRetention {
  return {
    bytesMax: executorAuditMaxMb === 0 ? null : executorAuditMaxMb * 1_048_576,
    ageMsMax: executorAuditKeepDays === 0 ? null : executorAuditKeepDays * 86_400_000,
  };
}

async function openRegistry({ settings, log, stopping, dataDirectory, audit, metrics }: Base, tiers: ExecutorTiers) {
  const registry = await openEventRegistry({
    eventList: settings.executorEvents === '' ? null : settings.executorEvents,
    eventsDirectory: settings.executorEventsDir === '' ? null : settings.executorEventsDir,
    codeDirectory: join(dataDirectory, 'code'),
    describe: (code) => tiers.own.describe(code),
    bounds: {
      timeout_secs: settings.executorTaskTimeoutSecs,
      memory_mb: settings.executorMemoryMb,
      tier: tiers.own.tier,
    },
    ephemeralTtlSecs: settings.executorEphemeralTtlSecs,
    codeScan: settings.executorCodeScan,
    clock,
    log,
    audit,
    onPull: (source) => metrics.pulled(source),
  }).catch(failedWith('HEDDLE_EXECUTOR_EVENTS, HEDDLE_EXECUTOR_EVENTS_DIR'));
  stopping.add('the events', () => registry.close());
  return registry;
}

async function openManager(
  base: Base,
  parts: {
    tiers: ExecutorTiers;
    registry: EventRegistry;
    revoked: RevokedCertificates;
    listening: () => readonly Ingress[];
  },
): Promise<OpenRemoteManager> {
  const { settings, log, stopping, dataDirectory, metrics, audit } = base;
  const keys = await openKeys(base);
  const authenticator = await openAuthenticator({
    keys,
    audiences: [settings.executorAudience],
    replayDirectory: join(dataDirectory, 'requests'),
    replayLimits: {
      totalMax: settings.executorRequestsRemembered,
      perClientMax: Math.floor(settings.executorRequestsRemembered / 10),
    },
    tokens: tokenSettings(settings),
    revoked: parts.revoked,
    ...(settings.executorClientCa === '' ? {} : { certificateIngresses: ['grpc', 'xmlrpc', 'tcp', 'http'] as const }),
    clock,
    random,
    log,
  }).catch(failed);
  stopping.add('the memory of requests', () => authenticator.close());
  const { otelServiceName: given } = settings;
  const otelServiceName = given === 'task-runner' ? 'heddle-executor' : given;
  const tracing = await openTracing({ ...settings, otelServiceName }, log);
  stopping.add('traces', () => tracing.shutdown());
  const manager = await createRemoteManager({
    authenticator,
    keys,
    registry: parts.registry,
    tiers: parts.tiers.all,
    journalDirectory: join(dataDirectory, 'journal'),
    audit,
    metrics,
    tracing: createTaskTracing(tracing),
    log,
    clock,
    random,
    listeners: parts.listening,
    settings: managerSettings(settings, parts.tiers),
  }).catch(failed);
  stopping.add('the manager', () => manager.close());
  return manager;
}

function managerSettings(settings: SettingValues, tiers: ExecutorTiers) {
  return {
    allowedEvents: settings.executorAllowedEvents,
    tier: tiers.own.tier,
    workerCount: settings.executorWorkerCount,
    maxPendingTasks: settings.executorMaxPendingTasks,
    taskTimeoutSecs: settings.executorTaskTimeoutSecs,
    memoryMb: settings.executorMemoryMb,
    resultBytesMax: settings.executorResultBytesMax,
    responseTtlMinutes: settings.executorResponseTtlMinutes,
    journalSync: settings.executorJournalSync,
    journalBytesMax: settings.executorJournalMaxMb * 1_048_576,
    debug: settings.executorDebug,
    executorName: hostname(),
    version: VERSION,
  };
}

async function openKeys({ settings, log, stopping, audit }: Base): Promise<KeyRing> {
  const { executorKeys: path, executorSecretKey } = settings;
  if (path === '') {
    return memoryKeyRing([{ id: 'default', secret: Buffer.from(executorSecretKey, 'base64url') }], clock);
  }
  const onChange: NonNullable<Parameters<typeof openKeyRingFile>[0]['onChange']> = (keys) => {
    audit.append({ action: 'keys_changed', detail: keys.map(({ id, state }) => `${id} ${state}`).join(', ') });
  };
  const keys = await openKeyRingFile({ path, clock, log, onChange }).catch(
    failedWith('HEDDLE_EXECUTOR_KEYS', '`heddle keys generate --out keys --client NAME` creates a key ring'),
  );
  stopping.add('the keys', () => keys.close());
  return keys;
}

function tokenSettings({
  executorJwtKeys: keysFile,
  executorJwtIssuer: issuer,
  executorJwtAudience,
  executorAudience,
  executorJwtAlgorithms: algorithms,
}: SettingValues) {
  if (keysFile === '') return null;
  return { keysFile, issuer, audience: executorJwtAudience || executorAudience, algorithms };
}

/** Reports why a part cannot be opened as a message for the operator. */
function failed(error: unknown): never {
  throw new CommandFailure(detailedMessageOf(error), { cause: error });
}

/** Does the same, with the setting that caused it and the remedy. */
function failedWith(setting: string, remedy?: string): (error: unknown) => never {
  return (error) => {
    const help = remedy === undefined ? '' : `; ${remedy}`;
    throw new CommandFailure(`${setting}: ${detailedMessageOf(error)}${help}`, { cause: error });
  };
}

/** For a file in the data directory: another user's, or on a full disk. */
function failedIn(dataDirectory: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(
      `HEDDLE_EXECUTOR_DATA: ${dataDirectory} cannot be used: ${detailedMessageOf(error)}; name a directory that this user can write to`,
      { cause: error },
    );
  };
}
