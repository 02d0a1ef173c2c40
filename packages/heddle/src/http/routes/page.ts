import { existsSync } from 'node:fs';
import { join } from 'node:path';

import fastifyStatic from '@fastify/static';
import type { FastifyReply } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import type { App, RouteContext } from './context.ts';

const ASSETS_MAX_AGE = '365d';

/** The console: one document under several paths, and its assets. Public; users log in with a token. */
export async function pageRoutes(app: App, { config }: RouteContext): Promise<void> {
  const directory = config.pageDirectory;
  const built = directory !== null && existsSync(join(directory, 'index.html'));
  if (built) {
    await app.register(fastifyStatic, {
      root: join(directory, 'assets'),
      prefix: '/assets/',
      // Their names change with their content.
      immutable: true,
      maxAge: ASSETS_MAX_AGE,
      index: false,
      schemaHide: true,
    });
  }
  const sendPage = (_request: unknown, reply: FastifyReply): FastifyReply => {
    if (!built) {
      throw new HeddleError('NOT_FOUND', 'The console is not built', {
        details: ['console: is not built; run `node scripts/build-page.ts`'],
      });
    }
    return reply.sendFile('index.html', directory, { immutable: false, maxAge: 0 });
  };
  for (const url of ['/', '/view', '/workflows', '/jobs', '/findings', '/surface', '/executors', '/pool']) {
    app.route({ method: 'GET', url, config: { scope: null }, schema: { hide: true }, handler: sendPage });
  }
}
