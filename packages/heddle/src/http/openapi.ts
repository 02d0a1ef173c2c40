import swagger from '@fastify/swagger';

import type { App } from './routes/context.ts';

const DESCRIPTION = `Tasks with dependencies, rules, deduplication and webhooks. The paths at the root are the Task Runner
API; everything newer is under \`/v1\`. Errors are problem documents (RFC 9457): \`code\` is stable, \`details\` names each
field. If the server requires tokens, \`read\`, \`submit\`, \`work\`, \`operate\` (includes read and work) and \`admin\` (includes all) are
their scopes.`;

/** Describes every route that is added after it, from the validation schemas. */
export async function describeApi(app: App, version: string, hostUrl: string): Promise<void> {
  await app.register(swagger, {
    refResolver: {
      // Recursive schemas are described under their own names.
      buildLocalReference: (json, _baseUri, _fragment, index) => (json.$id as string | undefined) ?? `def-${index}`,
    },
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Heddle', version, description: DESCRIPTION, license: { name: 'Apache-2.0' } },
      servers: [{ url: hostUrl }],
      tags: [
        { name: 'Tasks' },
        { name: 'Batches' },
        { name: 'Workflows', description: 'Trees of sequential and parallel containers.' },
        { name: 'Runs', description: 'Batches and workflows as one list.' },
        { name: 'Kinds', description: 'Kinds of tasks: what they do, their inputs, who runs them.' },
        { name: 'Jobs', description: 'Workflows on a schedule.' },
        { name: 'Work', description: 'Tasks for workers in any language: claim, heartbeat, complete.' },
        { name: 'Findings', description: 'Secrets found by scans, over all their runs.' },
        { name: 'Models', description: 'Known hosts, services, names and certificates, and their changes.' },
        { name: 'Executors', description: 'Executors of tasks of the kind `RemoteEvent`.' },
        { name: 'Pool', description: 'Runners, requests for runners, and holds.' },
        { name: 'Queues', description: 'Queues and dead letters.' },
        { name: 'Webhooks', description: 'The outbox of webhook deliveries.' },
        { name: 'Definitions', description: 'Stored rules and actions that tasks reference.' },
        { name: 'Access', description: 'Sessions of browsers, and tokens.' },
        { name: 'Service', description: 'Health, metrics, this description.' },
      ],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'A token of `heddle token create`.' },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: 'heddle_session',
            description: 'The session of a browser, for pages of this server only.',
          },
        },
      },
    },
  });
}
