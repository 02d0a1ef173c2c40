import type { RemoteExecutor } from '@heddle/executor/client/remote-executor';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { systemClock } from '@heddle/base/clock';
import type { Configuration } from '../config.ts';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import { KeyFileError } from '@heddle/executor/security/key-file-error';
import { openExecutors, type ConfiguredExecutors } from './executors.ts';

export type { RetryNotice } from '@heddle/executor/client/options';

export interface EventClient {
  /** The executor to call: the named one, else the first. */
  readonly remote: RemoteExecutor;
  /** All configured executors. */
  readonly executors: ConfiguredExecutors;
}

/** The failure of a call, for users and for scripts. */
export interface RemoteFault {
  /** A code of the executor, or UNREACHABLE, or UNUSABLE if the client's own files cannot be used. */
  code: string;
  message: string;
  details: readonly string[];
  /** Null if no task is known. */
  correlation_id: string | null;
}

/**
 * Opens the client of one command. Nothing is requested before a call is made.
 * @param name of a configured executor; null for the first
 * @throws ConfigurationError if no executor is configured, or none of that name
 */
export function openEventClient({ values: settings }: Configuration, name: string | null): EventClient {
  const common = { clock: systemClock, random: systemRandom, log: silentLogger, healthIntervalMs: 0 };
  const executors = openExecutors({ settings, ...common });
  if (executors === null) {
    throw new ConfigurationError(['HEDDLE_EXECUTORS: name an executor, here or with --executor grpc://HOST:PORT']);
  }
  const remote = executors.find(name);
  if (remote === null) {
    throw new ConfigurationError([
      `--executor: no executor is named ${name}; configured: ${executors.names.join(', ')}`,
    ]);
  }
  return { remote, executors };
}

/**
 * Returns the fault that an error describes; null for any other error. Matches by name, so that the client need not be
 * loaded.
 */
export function remoteFaultOf(error: unknown): RemoteFault | null {
  if (!(error instanceof Error)) return null;
  const { name, message } = error;
  if (name === 'RemoteFailure' || name === 'RemoteCallFailure') {
    const {
      code,
      details,
      correlationId = null,
    } = error as Error & {
      code: string;
      details: readonly string[];
      correlationId?: string | null;
    };
    return { code, message, details, correlation_id: correlationId };
  }
  const code = name === 'TransportFailure' || name === 'ForgedAnswer' ? 'UNREACHABLE' : null;
  if (code !== null) return { code, message, details: [], correlation_id: null };
  if (!(error instanceof KeyFileError) && !isFileError(error)) return null;
  return { code: 'UNUSABLE', message, details: [], correlation_id: null };
}

/** A certificate or token that cannot be read. */
function isFileError(error: Error): boolean {
  const { code, path } = error as NodeJS.ErrnoException;
  return typeof code === 'string' && typeof path === 'string';
}
