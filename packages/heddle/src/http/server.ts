import { createServer } from 'node:http';

import fastify from 'fastify';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';

import { HeddleError } from '@heddle/base/errors';
import { FailedLogins } from './access/failed-logins.ts';
import { Sessions } from './access/sessions.ts';
import { trustedProxies } from './access/trusted-proxies.ts';
import { auditCalls } from './audit.ts';
import { guardRequests, TokenGate } from './auth.ts';
import { limitBodies } from './body-limits.ts';
import { readBodies } from './body.ts';
import { answerBrokenRequests } from './broken-requests.ts';
import { refuseForeignRequests } from './foreign-requests.ts';
import { Handles } from './handles.ts';
import { EventStreams } from './live/event-streams.ts';
import { observeRequests } from './observe.ts';
import { DirectRoutes } from './direct/direct-routes.ts';
import { answerFailures } from './direct/handed-over.ts';
import { describeApi } from './openapi.ts';
import { Operations } from './operations.ts';
import { limitPipelining } from './pipelining.ts';
import { WorkHolders } from './live/work-holders.ts';
import type { ServerDependencies } from './ports.ts';
import { answerBadAddress, answerProblems } from './problems.ts';
import { artifactRoutes } from './routes/artifacts.ts';
import { auditRoutes } from './routes/audit.ts';
import { batchRoutes } from './routes/batches.ts';
import type { App, RouteContext } from './routes/context.ts';
import { definitionRoutes } from './routes/definitions.ts';
import { eventRoutes } from './routes/events.ts';
import { executorRoutes } from './routes/executors.ts';
import { findingRoutes } from './routes/findings.ts';
import { modelRoutes } from './routes/models.ts';
import { homeRoutes } from './routes/home.ts';
import { jobRoutes } from './routes/jobs.ts';
import { oidcRoutes } from './routes/oidc.ts';
import { jobTimeRoutes } from './routes/job-times.ts';
import { kindRoutes } from './routes/kinds.ts';
import { schemaRoutes } from './routes/schemas.ts';
import { pageRoutes, readPage } from './routes/page.ts';
import { runnerAgentRoutes } from './routes/runner-agents.ts';
import { placeRoutes } from './routes/places.ts';
import { poolRoutes } from './routes/pool.ts';
import { queueRoutes } from './routes/queues.ts';
import { reportRoutes } from './routes/report.ts';
import { runRoutes } from './routes/runs.ts';
import { runViewRoutes } from './routes/run-views.ts';
import { runOperationRoutes } from './routes/run-operations.ts';
import { secretRoutes } from './routes/secrets.ts';
import { sessionRoutes } from './routes/session.ts';
import { sessionsRoutes } from './routes/sessions.ts';
import { serviceRoutes } from './routes/service.ts';
import { submitRoutes } from './routes/submit.ts';
import { taskListRoutes } from './routes/task-list.ts';
import { logRoutes } from './routes/logs.ts';
import { taskOperationRoutes } from './routes/task-operations.ts';
import { taskRoutes } from './routes/task.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import { workRoutes } from './routes/work.ts';
import { workArtifactRoutes } from './routes/work-artifacts.ts';
import { workDataRoutes } from './routes/work-data.ts';
import { workflowRoutes } from './routes/workflows.ts';
import { addSecurityHeaders } from './security-headers.ts';
import { RunnerCredentials } from './runner-credentials.ts';
import { SignedUrls } from './signed-urls.ts';
import { answerUnmatched } from './unmatched.ts';
import { compileValidator } from './validation/compiler.ts';
import { WorkflowNode } from './wire/new-workflow.ts';
import { WorkflowTreeNode } from './wire/workflow.ts';

export type { App } from './routes/context.ts';

/** Maximum length of a path segment; names are shorter, and their routes report longer ones. */
const PARAMETER_MAX_CHARS = 1000;
/** Time limit for a request to arrive, including its body. */
const REQUEST_TIMEOUT_MS = 300_000;

/**
 * Builds the HTTP server, ready to listen. `close()` ends event streams, lets running requests finish, and commits
 * accepted work.
 */
export function buildServer(dependencies: ServerDependencies): App {
  const { engine, clock, log, config } = dependencies;
  const app: App = fastify({
    bodyLimit: config.bodyLimitBytes,
    forceCloseConnections: 'idle',
    trustProxy: trustedProxies(config.trustedProxies ?? []),
    // The hook below rejects these instead, with a problem document.
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequests(log),
    frameworkErrors: (_error, request, reply) => answerBadAddress(request, reply),
    routerOptions: { maxParamLength: PARAMETER_MAX_CHARS },
    serverFactory: (framework, { keepAliveTimeout }) => {
      const server = createServer((request, response) => direct.handle(request, response, framework));
      return Object.assign(server, { keepAliveTimeout, requestTimeout: REQUEST_TIMEOUT_MS });
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
  const context: RouteContext = {
    ...dependencies,
    operations: new Operations(engine),
    gate: new TokenGate(dependencies.tokens, clock),
    sessions: new Sessions({
      repository: dependencies.sessionRepository,
      clock,
      secure: config.hostUrl.startsWith('https:'),
      issuer: dependencies.identityProvider?.issuer ?? null,
    }),
    failedLogins: new FailedLogins(clock),
    handles: new Handles(dependencies.secrets, clock, config.handleGraceMs),
    runners: new RunnerCredentials(dependencies.secrets),
    signedUrls: new SignedUrls(dependencies.secrets, clock, config.hostUrl),
    holders: new WorkHolders(engine),
    streams: new EventStreams({ engine, clock, log }, config.maxEventStreams),
  };
  const direct = new DirectRoutes(context);
  app.setValidatorCompiler(compileValidator);
  // Recursive schemas are referenced by name.
  for (const schema of [WorkflowNode, WorkflowTreeNode]) app.addSchema(schema);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));

  // Hooks run in this order for each request: limit the connection, measure, authorize, read.
  limitPipelining(app);
  observeRequests(app, dependencies);
  addSecurityHeaders(app);
  refuseWhileClosing(app, context.streams);
  refuseForeignRequests(app, config);
  guardRequests(app, context, config);
  answerFailures(app);
  auditCalls(app, dependencies.audit);
  readBodies(app);
  limitBodies(app, config.bodyLimitBytes);
  answerProblems(app, log);
  answerUnmatched(app, readPage(config.pageDirectory));

  app.register(async (scope) => {
    const routed = scope.withTypeProvider<TypeBoxTypeProvider>();
    await describeApi(routed, config.version, config.hostUrl);
    addRoutes(routed, context);
    await pageRoutes(routed, context);
  });

  app.addHook('preClose', () => context.streams.close());
  app.addHook('onClose', () => context.operations.drain());
  app.addHook('onClose', () => context.holders.drain());
  return app;
}

function refuseWhileClosing(app: App, streams: EventStreams): void {
  app.addHook('onRequest', (_request, reply, done) => {
    if (!streams.closing) {
      done();
      return;
    }
    void reply.header('connection', 'close');
    done(new HeddleError('SHUTTING_DOWN'));
  });
}

function addRoutes(app: App, context: RouteContext): void {
  homeRoutes(app, context);
  placeRoutes(app, context);
  submitRoutes(app, context);
  taskListRoutes(app, context);
  taskRoutes(app, context);
  taskOperationRoutes(app, context);
  logRoutes(app, context);
  reportRoutes(app, context);
  runRoutes(app, context);
  runViewRoutes(app, context);
  batchRoutes(app, context);
  workflowRoutes(app, context);
  runOperationRoutes(app, context);
  workRoutes(app, context);
  workDataRoutes(app, context);
  workArtifactRoutes(app, context);
  kindRoutes(app, context);
  schemaRoutes(app);
  jobRoutes(app, context);
  jobTimeRoutes(app, context);
  findingRoutes(app, context);
  modelRoutes(app, context);
  executorRoutes(app, context);
  queueRoutes(app, context);
  poolRoutes(app, context);
  runnerAgentRoutes(app, context);
  eventRoutes(app, context);
  webhookRoutes(app, context);
  definitionRoutes(app, context);
  artifactRoutes(app, context);
  auditRoutes(app, context);
  sessionRoutes(app, context);
  sessionsRoutes(app, context);
  tokenRoutes(app, context);
  oidcRoutes(app, context);
  secretRoutes(app, context);
  serviceRoutes(app, context);
}
