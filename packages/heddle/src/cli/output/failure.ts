import { HeddleApiError } from '@heddle/client';
import { CommandFailure } from '@heddle/base/terminal/failure';
import type { FailureReport } from '@heddle/base/terminal/process-failure';
import { CLIENT_EXIT, type ClientExit } from './exit-codes.ts';
import type { Output } from '@heddle/base/terminal/output';
import { printable } from '@heddle/base/terminal/text';

/** A failure as a client command reports it. */
export interface ClientFailureReport extends FailureReport {
  exit_code: ClientExit;
}

/** The command's input is unusable. Nothing was sent. */
export class UsageFailure extends Error {
  readonly details: readonly string[];
  readonly hint: string | null;

  constructor(
    message: string,
    { details = [], hint = null }: { details?: readonly string[]; hint?: string | null } = {},
  ) {
    super(message);
    this.name = 'UsageFailure';
    this.details = details;
    this.hint = hint;
  }
}

/** Converts any error of a command to a report; rethrows defects of the program. */
export function reportOf(error: unknown, url: string): ClientFailureReport {
  if (error instanceof HeddleApiError) return apiReport(error, url);
  if (error instanceof UsageFailure) {
    const { message, details, hint } = error;
    return { code: 'USAGE', error: message, details, hint, exit_code: CLIENT_EXIT.usage };
  }
  if (error instanceof CommandFailure) {
    return { code: 'FAILED', error: error.message, details: [], hint: null, exit_code: error.exitCode };
  }
  if (error instanceof SyntaxError) return notHeddle(url, 'the answer is not JSON');
  const reason = connectionFailure(error);
  if (reason !== null) return unreachable(url, reason);
  throw error;
}

function apiReport(error: HeddleApiError, url: string): ClientFailureReport {
  if (error.code === null) return notHeddle(url, `it responded with ${error.status} without an error code of Heddle`);
  const answer = error.answer as { error?: string } | null;
  const { exit_code, hint } = verdictOf(error);
  return { code: error.code, error: answer?.error ?? error.message, details: error.details, hint, exit_code };
}

function verdictOf({ code, retryAfterSecs }: HeddleApiError): Pick<ClientFailureReport, 'exit_code' | 'hint'> {
  switch (code) {
    case 'NOT_FOUND':
      return {
        exit_code: CLIENT_EXIT.notFound,
        hint: 'list existing objects: heddle batch list, heddle workflow list, heddle task list, heddle webhook list, heddle job list, heddle pool list, heddle findings list, heddle session list',
      };
    case 'UNAUTHENTICATED':
      return {
        exit_code: CLIENT_EXIT.denied,
        hint: 'create a token on the server (heddle token create --name NAME --scope SCOPE), and pass it with --token or HEDDLE_TOKEN',
      };
    case 'LOGIN_REJECTED':
      return { exit_code: CLIENT_EXIT.denied, hint: 'pass a token with --token or HEDDLE_TOKEN' };
    case 'HOST_NOT_ALLOWED':
      return {
        exit_code: CLIENT_EXIT.denied,
        hint: 'use the address of the server instead of this name, or add the name to HEDDLE_ALLOWED_HOSTS of the server',
      };
    case 'CROSS_ORIGIN':
    case 'FORBIDDEN':
      return { exit_code: CLIENT_EXIT.denied, hint: 'use a token with a scope that includes this operation' };
    case 'REQUEST_TIMEOUT':
    case 'TOO_MANY_REQUESTS':
    case 'DATABASE_UNAVAILABLE':
    case 'DATABASE_BUSY':
    case 'QUEUE_UNAVAILABLE':
    case 'IDENTITY_PROVIDER_UNAVAILABLE':
    case 'SHUTTING_DOWN':
      return {
        exit_code: CLIENT_EXIT.unavailable,
        hint: retryAfterSecs === null ? 'try again later' : `try again in ${retryAfterSecs} s`,
      };
    case 'CONFLICT':
    case 'HELD_BY_ANOTHER':
    case 'STALE_ATTEMPT':
      return {
        exit_code: CLIENT_EXIT.failed,
        hint: 'check its state: heddle task get ID, heddle workflow get ID, heddle job get JOB, heddle pool get ID',
      };
    case 'IDEMPOTENCY_MISMATCH':
      return { exit_code: CLIENT_EXIT.failed, hint: 'use another key, or submit the same file again' };
    case 'SSRF_BLOCKED':
      return { exit_code: CLIENT_EXIT.usage, hint: 'name a public address, or allow this one on the server' };
    case 'VALIDATION_FAILED':
    case 'MALFORMED_BODY':
    case 'INVALID_QUERY':
    case 'BODY_TOO_LARGE':
    case 'HEADERS_TOO_LARGE':
      return { exit_code: CLIENT_EXIT.usage, hint: 'fix the errors listed above and try again; nothing was changed' };
    case 'INVALID_HANDLE':
    case 'METHOD_NOT_ALLOWED':
    case 'MALFORMED_REQUEST':
    case 'UNSUPPORTED_MEDIA_TYPE':
    case 'INTERNAL':
    case null:
      return { exit_code: CLIENT_EXIT.failed, hint: null };
  }
}

const IN_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the network is unreachable',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the host name cannot be resolved at the moment',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_SOCKET: 'the connection was closed',
  UND_ERR_HEADERS_TIMEOUT: 'the response timed out',
  UND_ERR_BODY_TIMEOUT: 'the response was cut off',
};

/** Returns why no response arrived; null for an error of another kind. */
function connectionFailure(error: unknown): string | null {
  if (!(error instanceof TypeError) || !/fetch failed|terminated|network/i.test(error.message)) return null;
  const cause = error.cause as { code?: string; message?: string; errors?: { code?: string }[] } | undefined;
  const code = cause?.code ?? cause?.errors?.[0]?.code;
  return (code === undefined ? undefined : IN_WORDS[code]) ?? cause?.message ?? 'no response';
}

function unreachable(url: string, reason: string): ClientFailureReport {
  return {
    code: 'UNREACHABLE',
    error: `no server answers at ${url}: ${reason}`,
    details: [],
    hint: 'start one with `heddle up`, or select another with --url or HEDDLE_URL',
    exit_code: CLIENT_EXIT.unavailable,
  };
}

function notHeddle(url: string, reason: string): ClientFailureReport {
  return {
    code: 'NOT_HEDDLE',
    error: `the server at ${url} does not seem to be Heddle: ${reason}`,
    details: [],
    hint: 'check --url or HEDDLE_URL',
    exit_code: CLIENT_EXIT.unavailable,
  };
}

/** Writes a report to standard error: as text, or as one JSON document with `--json`. */
export function writeFailure(output: Output, report: FailureReport): void {
  if (output.json) {
    output.notice(JSON.stringify(report));
    return;
  }
  output.notice(`${output.paintError('red', `error[${report.code}]:`)} ${printable(report.error)}`);
  for (const detail of report.details) output.notice(`  ${printable(detail)}`);
  if (report.hint !== null) output.notice(`${output.paintError('bold', 'hint:')} ${report.hint}`);
}
