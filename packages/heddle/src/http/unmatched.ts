import type { FastifyInstance, FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import { sendProblem } from './problems.ts';
import { sendPage } from './routes/page.ts';

interface KnownPath {
  pattern: RegExp;
  methods: Set<string>;
}

/**
 * Responds to requests without a route: 405 with `Allow` if the path exists, else 404; to people, with the console's
 * page that says so. Call it before routes are added.
 */
export function answerUnmatched(app: FastifyInstance, page: string | null): void {
  const known = new Map<string, KnownPath>();
  app.addHook('onRoute', (route) => {
    const entry = known.get(route.url) ?? { pattern: patternOf(route.url), methods: new Set<string>() };
    for (const method of [route.method].flat()) entry.methods.add(method);
    known.set(route.url, entry);
  });
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0]!;
    const allowed = new Set(
      [...known.values()].filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => [...methods]),
    );
    if (allowed.size === 0 || allowed.has(request.method)) {
      if (page !== null && isNavigation(request, path)) return sendPage(reply.code(404), page);
      const detail = `path: no route for ${JSON.stringify(path.slice(0, 200))}; see /v1/openapi.json`;
      return sendProblem(request, reply, new HeddleError('NOT_FOUND', undefined, { details: [detail] }));
    }
    const offered = [...allowed].sort().join(', ');
    void reply.header('allow', offered);
    const details = [`method: must be one of ${offered}, not ${request.method}`];
    return sendProblem(request, reply, new HeddleError('METHOD_NOT_ALLOWED', undefined, { details }));
  });
}

/** Whether someone opened the address in a browser. Those below /v1 belong to the API. */
function isNavigation({ method, headers }: FastifyRequest, path: string): boolean {
  return method === 'GET' && !path.startsWith('/v1/') && headers.accept?.startsWith('text/html') === true;
}

/** Converts `/task/:id` to a regular expression; a wildcard matches the rest. */
function patternOf(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/:[A-Za-z_]+/g, '[^/]+').replaceAll('*', '.*')}$`);
}
