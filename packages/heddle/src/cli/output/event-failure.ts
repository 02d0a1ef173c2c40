import type { RemoteFault } from '../../app/remote/event-client.ts';
import { CLIENT_EXIT, type ClientExit } from './exit-codes.ts';
import type { ClientFailureReport } from './failure.ts';

const VERDICTS: Readonly<Record<string, readonly [ClientExit, string | null]>> = {
  NOT_FOUND: [
    CLIENT_EXIT.notFound,
    'outcomes are kept for a limited time; submit again, or ask the executor that accepted the task',
  ],
  EVENT_NOT_REGISTERED: [CLIENT_EXIT.notFound, 'list the events: heddle event list'],
  EVENT_NOT_WHITELISTED: [CLIENT_EXIT.denied, 'list the events that this client may submit: heddle event list'],
  FORBIDDEN: [CLIENT_EXIT.denied, 'use a token with the required scope and the audience of the executor'],
  UNAUTHENTICATED: [CLIENT_EXIT.denied, 'use a client file of this executor’s keys: heddle keys client NAME'],
  INVALID_CHECKSUM: [CLIENT_EXIT.denied, 'use a client file of this executor’s keys: heddle keys client NAME'],
  EXPIRED: [CLIENT_EXIT.denied, 'synchronize the clocks of both machines'],
  MALFORMED: [CLIENT_EXIT.usage, null],
  INVALID_ARGS: [CLIENT_EXIT.usage, 'fix the arguments listed above'],
  QUEUE_FULL: [CLIENT_EXIT.unavailable, 'try again later'],
  EVENT_UNAVAILABLE: [CLIENT_EXIT.unavailable, 'try again later; the executor’s log has the reason'],
  SHUTTING_DOWN: [CLIENT_EXIT.unavailable, 'try again later'],
  UNREACHABLE: [
    CLIENT_EXIT.unavailable,
    'check --executor (HEDDLE_EXECUTORS), and that `heddle executor` is running there',
  ],
  UNUSABLE: [CLIENT_EXIT.usage, 'check --client-file, --ca, --cert, --cert-key and --token-file'],
};

/** TLS errors for a missing or untrusted certificate, or for a side without TLS. */
const CERTIFICATE = /certificate|SSL routines|altname/i;
const CERTIFICATE_HINT =
  'check --ca, --cert and --cert-key (HEDDLE_EXECUTOR_CA, _CERT, _KEY); for an executor without TLS use +plain, as in grpc+plain://127.0.0.1:50051';

/** Converts a failed call to an executor to the report of a command. */
export function eventFailure({ code, message, details, correlation_id }: RemoteFault): ClientFailureReport {
  const [exit_code, usual] = VERDICTS[code] ?? [CLIENT_EXIT.failed, null];
  const hint = code === 'UNREACHABLE' && CERTIFICATE.test(message) ? CERTIFICATE_HINT : usual;
  const task = correlation_id === null ? [] : [`task ${correlation_id}`];
  return { code, error: message, details: [...details, ...task], hint, exit_code };
}
