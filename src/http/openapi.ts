import swagger from '@fastify/swagger';

import type { App } from './routes/context.ts';

const DESCRIPTION = `Tasks with dependencies, rules, deduplication and webhooks. The paths at the root are the Task Runner
API; everything newer lies under \`/v1\`. Errors are problem documents (RFC 9457): \`code\` is stable, \`details\` names each
field. Where tokens are required, \`read\`, \`submit\`, \`work\`, \`operate\` (includes read and work) and \`admin\` (includes all) are
their scopes.`;

/** Describes every route that is added after it, from the schemas that validate. */
export async function describeApi(app: App, version: string, hostUrl: string): Promise<void> {
  await app.register(swagger, {
    refResolver: {
      // What holds itself is described under its own name.
      buildLocalReference: (json, _baseUri, _fragment, index) => (json.$id as string | undefined) ?? `def-${index}`,
    },
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Heddle', version, description: DESCRIPTION, license: { name: 'Apache-2.0' } },
      servers: [{ url: hostUrl }],
      tags: [
        { name: 'Tasks' },
        { name: 'Batches' },
        { name: 'Workflows', description: 'Trees of sequences and parallel containers.' },
        { name: 'Jobs', description: 'Workflows that start by a schedule.' },
        { name: 'Work', description: 'Tasks for workers in any language: claim, heartbeat, complete.' },
        { name: 'Findings', description: 'Secrets that scans found, over all their runs.' },
        { name: 'Models', description: 'Hosts, services, names, certificates: what is known, and what has changed.' },
        { name: 'Executors', description: 'Where tasks of the kind `RemoteEvent` go.' },
        { name: 'Pool', description: 'Runners: warm ones, those at work, and who waits for one.' },
        { name: 'Queues', description: 'What stands in the queues, and dead letters.' },
        { name: 'Webhooks', description: 'The outbox of webhook deliveries.' },
        { name: 'Definitions', description: 'Rules and actions that tasks name instead of repeating.' },
        { name: 'Service', description: 'Health, metrics, this description.' },
      ],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'A token of `heddle token create`.' },
        },
      },
    },
  });
}
