import type { FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import { tasksIn, type NewNode } from '@heddle/base/vocabulary/workflow';
import { COMMAND_KIND } from '@heddle/core/domain/command';
import { grants } from '@heddle/core/domain/token';

/** Commands run code on the machines of their workers, so that they need a scope of their own. */
export function requireCommandScope(
  { heddle: { scopes } }: Pick<FastifyRequest, 'heddle'>,
  kinds: Iterable<string>,
): void {
  if (scopes === null || grants(scopes, 'command')) return;
  for (const kind of kinds) {
    if (kind !== COMMAND_KIND) continue;
    throw new HeddleError('FORBIDDEN', `Tasks of the kind ${COMMAND_KIND} require the scope command`, {
      details: [`authorization: requires the scope command; the token has ${scopes.join(', ') || 'none'}`],
    });
  }
}

/** Returns the kinds of all tasks of a tree. */
export function kindsIn(root: NewNode): string[] {
  return tasksIn(root).map(({ kind }) => kind);
}
