import type { FastifyInstance, FastifyBaseLogger, RawServerDefault } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';

import type { FailedLogins } from '../access/failed-logins.ts';
import type { Sessions } from '../access/sessions.ts';
import type { TokenGate } from '../auth.ts';
import type { Handles } from '../handles.ts';
import type { EventStreams } from '../live/event-streams.ts';
import type { WorkHolders } from '../live/work-holders.ts';
import type { RunnerCredentials } from '../runner-credentials.ts';
import type { SignedUrls } from '../signed-urls.ts';
import type { Operations } from '../operations.ts';
import type { ServerDependencies } from '../ports.ts';

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** What routes work with: the server's dependencies and what it derived from them. */
export interface RouteContext extends ServerDependencies {
  operations: Operations;
  gate: TokenGate;
  sessions: Sessions;
  failedLogins: FailedLogins;
  handles: Handles;
  runners: RunnerCredentials;
  signedUrls: SignedUrls;
  holders: WorkHolders;
  streams: EventStreams;
}
