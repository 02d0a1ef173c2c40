import type { EngineSettings } from '@heddle/core/engine/context';
import { createEngine, type EngineOptions, type TransactionalEngine } from '@heddle/core/engine/engine';
import { createTracer, type Tracing } from '@heddle/base/trace';
import type { Logger } from '@heddle/base/log';
import { openDatabase, type Database, type DatabaseOptions } from '@heddle/core/store/database';
import { secretKeyring } from './secret-keys.ts';
import type { SettingValues } from './settings.ts';

/** The processes that share one system. */
export const PROCESS_ROLES = ['server', 'worker', 'lambda'] as const;

export type ProcessRole = (typeof PROCESS_ROLES)[number];

interface Role {
  /** Maximum connections that the role can use. */
  readonly connectionsMax: number;
  readonly keepsIdleConnections: boolean;
  readonly applicationName: string;
}

const ROLES: Readonly<Record<ProcessRole, Role>> = {
  server: { connectionsMax: Infinity, keepsIdleConnections: true, applicationName: 'heddle' },
  worker: { connectionsMax: 6, keepsIdleConnections: false, applicationName: 'heddle worker' },
  lambda: { connectionsMax: Infinity, keepsIdleConnections: false, applicationName: 'heddle lambda' },
};

type FromSettings =
  | 'maxSize'
  | 'minIdle'
  | 'acquireRetries'
  | 'acquireTimeoutMs'
  | 'listenUrl'
  | 'slowQueryMs'
  | 'statementTimeoutMs'
  | 'applicationName';

/** Options that the processes have in common. */
export interface ProcessOptions {
  readonly database: Pick<DatabaseOptions, FromSettings>;
  readonly engine: EngineSettings;
  readonly tracing: TracingOptions;
}

type TracingOptions = Omit<Parameters<typeof createTracer>[0], 'log'>;

/**
 * Converts settings to the options of an engine, its database and its traces. It is the only place that does, so that a
 * setting read here reaches every process.
 */
export function optionsOf(role: ProcessRole, settings: SettingValues): ProcessOptions {
  const { connectionsMax, keepsIdleConnections, applicationName } = ROLES[role];
  return {
    database: {
      maxSize: Math.min(settings.poolMaxSize, connectionsMax),
      minIdle: keepsIdleConnections ? settings.poolMinIdle : 0,
      acquireRetries: settings.poolAcquireRetries,
      acquireTimeoutMs: settings.poolTimeoutSecs * 1_000,
      listenUrl: settings.listenUrl,
      slowQueryMs: settings.slowQueryThresholdMs,
      statementTimeoutMs: settings.statementTimeoutSecs * 1_000,
      applicationName,
    },
    engine: {
      claimTimeoutMs: settings.workerClaimTimeoutSecs * 1_000,
      workerLeaseMs: settings.workerLeaseSecs * 1_000,
      archiveAfterMs: settings.archiveAfterSecs * 1_000,
      deleteAfterMs: settings.deleteAfterSecs * 1_000,
    },
    tracing: tracingOf(settings),
  };
}

type TracingSettings = Pick<
  SettingValues,
  'tracingEnabled' | 'otlpEndpoint' | 'otlpProtocol' | 'otelServiceName' | 'otelSamplingRatio'
>;

function tracingOf(settings: TracingSettings): TracingOptions {
  return {
    enabled: settings.tracingEnabled,
    endpoint: settings.otlpEndpoint,
    protocol: settings.otlpProtocol === 'auto' ? null : settings.otlpProtocol,
    serviceName: settings.otelServiceName,
    samplingRatio: settings.otelSamplingRatio,
  };
}

/** What a process adds to its settings. */
interface Common {
  readonly role: ProcessRole;
  readonly settings: SettingValues;
}

export function openProcessDatabase({ role, settings }: Common, parts: Omit<DatabaseOptions, FromSettings>): Database {
  return openDatabase({ ...optionsOf(role, settings).database, ...parts });
}

/** `resourceClasses` are those of the pool policy in the database. */
export function openProcessEngine(
  { role, settings }: Common,
  parts: Omit<EngineOptions, keyof EngineSettings> & Required<Pick<EngineOptions, 'resourceClasses' | 'tracing'>>,
): TransactionalEngine {
  return createEngine({ ...optionsOf(role, settings).engine, secretKeyring: secretKeyring(settings), ...parts });
}

/** Also used by an executor, which has neither engine nor database. */
export function openTracing(settings: TracingSettings, log: Logger): Promise<Tracing> {
  return createTracer({ ...tracingOf(settings), log });
}
