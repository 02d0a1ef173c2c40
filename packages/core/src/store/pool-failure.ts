import { messageOf } from '@heddle/base/thrown';
import { DatabaseError } from 'pg';

import { HeddleError } from '@heddle/base/errors';
import { statementFault } from './statement-fault.ts';

/** The database is unreachable, or the connection broke: the failures that the circuit breaker counts. */
export class ConnectionFailure extends Error {
  /** False if an immediate retry cannot help, as with a wrong password. */
  readonly transient: boolean;

  constructor(message: string, cause: unknown, transient: boolean) {
    super(message, { cause });
    this.name = 'ConnectionFailure';
    this.transient = transient;
  }
}

/** SQLSTATE of writes on a standby, or on a primary that was set read-only. */
const READ_ONLY = '25006';

/** SQLSTATEs about the server or the connection, not the statement. */
const CONNECTION_STATES = new Set(['53300', '57P01', '57P02', '57P03', '57P05', '25P03', READ_ONLY]);

/** Messages of `pg` and of sockets for a lost connection; `pg` gives most of these no code. */
const CONNECTION_MESSAGE =
  /^(connection terminated|client has encountered a connection error|client was closed|timeout expired|the server does not support ssl|read econnreset|write epipe)/i;
/** Messages of `pg` for a statement that it did not write because the connection was already gone. */
const UNSENT_MESSAGE = /^client (has encountered a connection error|was closed) and is not queryable/i;
const CONNECTION_ERRNO = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'ENOTFOUND',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
]);

/** A full disk, a lock or a long statement does not clear within a second. */
const BUSY_RETRY_SECS = 5;

/** Returns whether an error of a statement is about the connection rather than the statement. */
export function isConnectionError(error: unknown): boolean {
  if (error instanceof ConnectionFailure) return true;
  if (error instanceof DatabaseError) {
    return error.code !== undefined && (error.code.startsWith('08') || CONNECTION_STATES.has(error.code));
  }
  if (!(error instanceof Error)) return false;
  const { code } = error as NodeJS.ErrnoException;
  return (code !== undefined && CONNECTION_ERRNO.has(code)) || CONNECTION_MESSAGE.test(error.message);
}

/** Wraps an error while connecting; there, every error is about the connection. */
export function connectionFailure(error: unknown): ConnectionFailure {
  if (error instanceof ConnectionFailure) return error;
  const reason = messageOf(error);
  // A server that rejects the password or does not have the database will do so again.
  const final = error instanceof DatabaseError && /^(28|3D|42)/.test(error.code ?? '');
  return new ConnectionFailure(`The database cannot be reached: ${reason}`, error, !final);
}

/** Converts transient failures to the errors that callers see; other errors stay unchanged. */
export function asCallerError(error: unknown): unknown {
  if (isConnectionError(error)) {
    return new HeddleError('DATABASE_UNAVAILABLE', undefined, { retryAfterSecs: 1, cause: error });
  }
  if (statementFault(error) !== 'busy') return error;
  const details = [`database: ${messageOf(error)}`];
  return new HeddleError('DATABASE_BUSY', undefined, { details, retryAfterSecs: BUSY_RETRY_SECS, cause: error });
}

/** Returns whether the server of this connection rejects writes, as its other connections will too. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === READ_ONLY;
}

/** Failures that certainly committed nothing, after which the statement or transaction may be retried unchanged. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ConnectionFailure) return isUnsent(error.cause);
  if (!(error instanceof DatabaseError)) return false;
  return error.code === '40001' || error.code === '40P01' || isStalePlan(error);
}

/** The connection was already closed when the statement was written to it, as after a restart of the server. */
function isUnsent(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error as NodeJS.ErrnoException).code === 'EPIPE' || UNSENT_MESSAGE.test(error.message);
}

/** A migration changed a table under a prepared statement; a new connection prepares it again. */
export function isStalePlan(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '0A000' && error.message.startsWith('cached plan must not');
}

/** Generic error of a statement after a failed one in the same transaction. */
export function isAfterFailure(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '25P02';
}
