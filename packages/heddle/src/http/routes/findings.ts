import { Type } from 'typebox';

import { CONFIDENCES } from '@heddle/base/vocabulary/confidence';
import { HeddleError, unknownCursor } from '@heddle/base/errors';
import { TARGET_CHARACTERS_MAX, type FindingDetail } from '@heddle/core/domain/finding';
import { oneOf, Uuid } from '../wire/basics.ts';
import { BulkResultDto } from '../wire/operation.ts';
import {
  BulkTriageDto,
  FindingChangeDto,
  FindingDetailDto,
  findingDetailToWire,
  FindingDto,
  FindingStateWire,
  findingToWire,
  ScanTargetDto,
  scanTargetToWire,
  TriageStateWire,
  VerdictWire,
} from '../wire/finding.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { timeFilter, timeOf, textFilter } from './filters.ts';
import { NoQuery, pageOf, pageProperties } from './parameters.ts';
import { auditedObject } from './task-operations.ts';

const PATH_CHARACTERS_MAX = 4096;
const RULE_CHARACTERS_MAX = 200;

const FindingParameters = Type.Object({ finding_id: Uuid('The finding.') }, { additionalProperties: false });

/** Routes of the findings of scans, over all their runs. */
export function findingRoutes(app: App, context: RouteContext): void {
  listRoute(app, context);
  targetsRoute(app, context);
  getRoute(app, context);
  changeRoute(app, context);
  bulkRoute(app, context);
}

function listRoute(app: App, { findings, config }: RouteContext): void {
  const { page_size } = pageProperties(config.pagination);
  app.route({
    method: 'GET',
    url: '/v1/findings',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List findings',
        description:
          'Newest first. The `id` of the last finding of a page is the `after` of the next one; a page that is not full is the last.',
        tag: 'Findings',
        scope: 'read',
        answers: { 200: { description: 'One page of findings.', schema: Type.Array(FindingDto) } },
      }),
      querystring: Type.Object(
        {
          page_size,
          after: Type.Optional(Uuid('Only findings after this one.')),
          target: textFilter(TARGET_CHARACTERS_MAX, 'Only of this target.'),
          rule: textFilter(RULE_CHARACTERS_MAX, 'Only of this rule, by its id.'),
          state: Type.Optional(FindingStateWire),
          triage: Type.Optional(TriageStateWire),
          path: textFilter(PATH_CHARACTERS_MAX, 'Only in objects whose path has this prefix.'),
          secret: Type.Optional(
            Type.String({
              pattern: '^[0-9a-f]{32}$',
              patternMeaning: '32 hexadecimal digits, the `secret_id` of a finding',
              description: 'Only of this secret, by its `secret_id`.',
            }),
          ),
          confidence: Type.Optional(
            oneOf([...CONFIDENCES], { description: 'Only findings that are at least this certain.' }),
          ),
          verdict: Type.Optional(VerdictWire),
          since: timeFilter('Only first seen at or after this time'),
        },
        { additionalProperties: false },
      ),
    },
    handler: async ({ query }) => {
      const { target, rule, state, triage, path, secret, confidence, verdict, since } = query;
      const filter = {
        ...(target === undefined ? {} : { target }),
        ...(rule === undefined ? {} : { rule_id: rule }),
        ...(state === undefined ? {} : { states: [state] }),
        ...(triage === undefined ? {} : { triage }),
        ...(path === undefined ? {} : { path_prefix: path }),
        ...(confidence === undefined ? {} : { confidence }),
        ...(verdict === undefined ? {} : { verdict }),
        ...(secret === undefined ? {} : { secret_id: secret }),
        ...(since === undefined ? {} : { since: timeOf('since', since) }),
      };
      const limit = query.page_size ?? config.pagination.default;
      const after = query.after?.toLowerCase() ?? null;
      if (after !== null && (await findings.get(after)) === null) throw unknownCursor('finding', after);
      return (await findings.list(filter, { after, limit })).map(findingToWire);
    },
  });
}

function targetsRoute(app: App, { findings, config }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/findings/targets',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'List scanned targets',
        description: 'Targets by name, each with its latest run.',
        tag: 'Findings',
        scope: 'read',
        answers: { 200: { description: 'One page of targets.', schema: Type.Array(ScanTargetDto) } },
      }),
      querystring: Type.Object(pageProperties(config.pagination), { additionalProperties: false }),
    },
    handler: async ({ query }) => (await findings.targets(pageOf(query, config.pagination))).map(scanTargetToWire),
  });
}

function getRoute(app: App, { findings }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/findings/:finding_id',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get a finding',
        tag: 'Findings',
        scope: 'read',
        answers: { 200: { description: 'The finding.', schema: FindingDetailDto } },
        problems: [404],
      }),
      params: FindingParameters,
      querystring: NoQuery,
    },
    handler: async ({ params }) => {
      const id = params.finding_id.toLowerCase();
      return findingDetailToWire(requireFinding(await findings.get(id), id));
    },
  });
}

function changeRoute(app: App, { findings }: RouteContext): void {
  app.route({
    method: 'PATCH',
    url: '/v1/findings/:finding_id',
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: 'Triage a finding',
        description: 'The token and the time are recorded. Later runs keep the triage status.',
        tag: 'Findings',
        scope: 'operate',
        answers: { 200: { description: 'The updated finding.', schema: FindingDetailDto } },
        problems: [404, 413, 415],
      }),
      params: FindingParameters,
      querystring: NoQuery,
      body: FindingChangeDto,
    },
    handler: async (request) => {
      const id = request.params.finding_id.toLowerCase();
      const { triage, comment } = request.body;
      const change = { state: triage, comment: comment ?? null, by: request.heddle.tokenName };
      await findings.triage([id], change);
      return findingDetailToWire(requireFinding(await findings.get(id), id));
    },
  });
}

function bulkRoute(app: App, { findings }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/findings/bulk',
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: 'Triage many findings',
        description:
          'One transition of a set: findings that do not exist, or are triaged so already, do not affect the others.',
        tag: 'Findings',
        scope: 'operate',
        answers: { 200: { description: 'What was changed, and why the rest was not.', schema: BulkResultDto } },
        problems: [413, 415],
      }),
      querystring: NoQuery,
      body: BulkTriageDto,
    },
    handler: async (request) => {
      const { triage, comment } = request.body;
      const ids = [...new Set(request.body.ids.map((id) => id.toLowerCase()))];
      const change = { state: triage, comment: comment ?? null, by: request.heddle.tokenName };
      const found = new Map((await findings.triage(ids, change)).map((outcome) => [outcome.id, outcome.changed]));
      const changed = ids.filter((id) => found.get(id) === true);
      const unchanged = ids
        .filter((id) => found.get(id) !== true)
        .map((id) => ({
          id,
          reason: found.has(id) ? `It is ${triage} already, with this comment` : 'No such finding',
        }));
      request.heddle.created = auditedObject(triage, changed, `${ids.length} findings`);
      return { changed, unchanged };
    },
  });
}

function requireFinding(finding: FindingDetail | null, id: string): FindingDetail {
  if (finding !== null) return finding;
  throw new HeddleError('NOT_FOUND', `No such finding: ${id}`, {
    details: [`finding_id: no finding has the id ${id}; list them with /v1/findings`],
  });
}
