import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import fastifyStatic from '@fastify/static';
import type { FastifyReply } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import type { App, RouteContext } from './context.ts';

const ASSETS_MAX_AGE = '365d';

/** The addresses of the console's views, each with everything below it. */
export const PLACES = [
  ...[
    '/',
    '/failures',
    '/runs',
    '/submit',
    '/tasks',
    '/schedules',
    '/workers',
    '/queues',
    '/webhooks',
    '/rules',
    '/pool',
  ],
  ...['/executors', '/findings', '/surface', '/audit', '/settings', '/design', '/view', '/workflows', '/jobs'],
];

/** The document of the console; null if it is not built. */
export function readPage(directory: string | null): string | null {
  const file = directory === null ? '' : join(directory, 'index.html');
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

/** Sends the document of the console, which decides by the address what it shows. */
export function sendPage(reply: FastifyReply, page: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').header('cache-control', 'public, max-age=0').send(page);
}

/** The console: one document under several paths, and its assets. Public; users log in. */
export async function pageRoutes(app: App, { config }: RouteContext): Promise<void> {
  const page = readPage(config.pageDirectory);
  if (page !== null) {
    await app.register(fastifyStatic, {
      root: join(config.pageDirectory!, 'assets'),
      prefix: '/assets/',
      // Their names change with their content.
      immutable: true,
      maxAge: ASSETS_MAX_AGE,
      index: false,
      schemaHide: true,
    });
  }
  const handler = (_request: unknown, reply: FastifyReply): FastifyReply => {
    if (page !== null) return sendPage(reply, page);
    throw new HeddleError('NOT_FOUND', 'The console is not built', {
      details: ['console: is not built; run `node scripts/build-page.ts`'],
    });
  };
  for (const place of PLACES) {
    for (const url of place === '/' ? ['/'] : [place, `${place}/*`]) {
      app.route({ method: 'GET', url, config: { scope: null }, schema: { hide: true }, handler });
    }
  }
}
