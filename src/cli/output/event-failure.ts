import type { RemoteFault } from '../../app/remote/event-client.ts';
import { CLIENT_EXIT, type ClientExit } from './exit-codes.ts';
import type { FailureReport } from './failure.ts';

const VERDICTS: Readonly<Record<string, readonly [ClientExit, string | null]>> = {
  NOT_FOUND: [
    CLIENT_EXIT.notFound,
    'outcomes are kept for a while only; submit again, or ask the executor that took it',
  ],
  EVENT_NOT_REGISTERED: [CLIENT_EXIT.notFound, 'list what there is: heddle event list'],
  EVENT_NOT_WHITELISTED: [CLIENT_EXIT.denied, 'list what this client may submit: heddle event list'],
  FORBIDDEN: [CLIENT_EXIT.denied, 'use a token with the scope, or the audience that the executor answers to'],
  UNAUTHENTICATED: [CLIENT_EXIT.denied, 'use a client file of this executor’s keys: heddle keys client NAME'],
  INVALID_CHECKSUM: [CLIENT_EXIT.denied, 'use a client file of this executor’s keys: heddle keys client NAME'],
  EXPIRED: [CLIENT_EXIT.denied, 'set the clocks of both machines'],
  MALFORMED: [CLIENT_EXIT.usage, null],
  INVALID_ARGS: [CLIENT_EXIT.usage, 'mend the arguments that are named above'],
  QUEUE_FULL: [CLIENT_EXIT.unavailable, 'try again in a while'],
  EVENT_UNAVAILABLE: [CLIENT_EXIT.unavailable, 'try again in a while; the executor’s log names the reason'],
  SHUTTING_DOWN: [CLIENT_EXIT.unavailable, 'try again in a while'],
  UNREACHABLE: [CLIENT_EXIT.unavailable, 'check --executor (HEDDLE_EXECUTORS), and that `heddle executor` runs there'],
  UNUSABLE: [CLIENT_EXIT.usage, 'see --client-file, --ca, --cert, --cert-key and --token-file'],
};

/** What TLS says where a certificate is missing, not trusted, or where one side speaks none. */
const CERTIFICATE = /certificate|SSL routines|altname/i;
const CERTIFICATE_NEXT =
  'check --ca, --cert and --cert-key (HEDDLE_EXECUTOR_CA, _CERT, _KEY); an executor without TLS is named with +plain, as grpc+plain://127.0.0.1:50051';

/** A failure of a call to an executor as a command tells it. */
export function eventFailure({ code, message, details, correlation_id }: RemoteFault): FailureReport {
  const [exit_code, usual] = VERDICTS[code] ?? [CLIENT_EXIT.failed, null];
  const next = code === 'UNREACHABLE' && CERTIFICATE.test(message) ? CERTIFICATE_NEXT : usual;
  const task = correlation_id === null ? [] : [`task ${correlation_id}`];
  return { code, error: message, details: [...details, ...task], next, exit_code };
}
