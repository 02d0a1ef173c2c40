import type { RemoteExecutor } from '../../remote/client/remote-executor.ts';
import { silentLogger } from '../../runtime/log.ts';
import { systemRandom } from '../../runtime/random.ts';
import { systemClock } from '../clock.ts';
import type { Configuration } from '../config.ts';
import { ConfigurationError } from '../failure.ts';
import { KeyFileError } from '../../remote/security/key-file-error.ts';
import { openExecutors, type ConfiguredExecutors } from './executors.ts';

export type { RetryNotice } from '../../remote/client/options.ts';

export interface EventClient {
  /** What the call is for: the executor that was named, else the first one. */
  readonly remote: RemoteExecutor;
  /** All that are configured. */
  readonly executors: ConfiguredExecutors;
}

/** What went wrong with a call, for people and for scripts. */
export interface RemoteFault {
  /** A code of the executor, or UNREACHABLE, or UNUSABLE where the client's own files cannot be used. */
  code: string;
  message: string;
  details: readonly string[];
  /** Null where no task is known. */
  correlation_id: string | null;
}

/**
 * The client of one command. Nothing is asked before a call is made.
 *
 * @param name of a configured executor; null for the first
 * @throws ConfigurationError where no executor is configured, or none of that name
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
      `--executor: none is named ${name}; those that there are: ${executors.names.join(', ')}`,
    ]);
  }
  return { remote, executors };
}

/** What an error of a call says; null where it is none. Told by name: nothing of the client is loaded to ask. */
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
