import { Type } from 'typebox';

import { AuditEntryDto, auditEntryToWire } from '../wire/audit.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { textFilter, timeFilter, timeOf } from './filters.ts';
import { pageProperties } from './parameters.ts';

const TEXT_MAX = 500;

const description = `Every call that changed something or was forbidden: who, what, to what, when. Newest first, or with
\`after\` oldest first. Each entry's \`hash\` is the SHA-256 of the 32 bytes of the hash before it (zeros before the first),
its \`seq\`, a space, and the JSON object \`{"at":MILLISECONDS,"actor":…,"action":…,"object":…,"status":…,"address":…}\`
without spaces, so that a changed, removed or inserted entry is found.`;

export function auditRoutes(app: App, { audit, config }: RouteContext): void {
  const seq = (text: string) => Type.Optional(Type.Integer({ minimum: 0, description: text }));
  app.route({
    method: 'GET',
    url: '/v1/audit',
    config: { scope: 'admin' },
    schema: {
      ...documented({
        summary: 'List the audit log',
        description,
        tag: 'Audit',
        scope: 'admin',
        answers: { 200: { description: 'One page of entries.', schema: Type.Array(AuditEntryDto) } },
      }),
      querystring: Type.Object(
        {
          page_size: pageProperties(config.pagination).page_size,
          after: seq('Only entries after this one, oldest first.'),
          before: seq('Only entries before this one.'),
          actor: textFilter(TEXT_MAX, 'Only of this actor.'),
          action: textFilter(TEXT_MAX, 'Only this action.'),
          object: textFilter(TEXT_MAX, 'Only on this object.'),
          since: timeFilter('Only at or after this time'),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query }) => {
      const { after, before, actor, action, object, since, page_size: limit = config.pagination.default } = query;
      const position = after === undefined ? { before: before ?? null } : { after };
      const filter = {
        actor: actor ?? null,
        action: action ?? null,
        object: object ?? null,
        since: since === undefined ? null : timeOf('since', since),
      };
      return (await audit.list(position, filter, limit)).map(auditEntryToWire);
    },
  });
}
