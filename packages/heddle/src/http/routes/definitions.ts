import type { FastifyRequest } from 'fastify';
import { Type, type TSchema } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { redactRequests } from '@heddle/base/redact';
import type { Definition, DefinitionType } from '../ports.ts';
import { seesSecrets } from '../request-state.ts';
import { ActionCheck } from '../submit/check-action.ts';
import { FaultList } from '../validation/explain.ts';
import { NewActionDto } from '../wire/action.ts';
import { isoTime } from '../wire/basics.ts';
import { ActionDefinitionDto, RuleDefinitionDto } from '../wire/definition.ts';
import { RuleDto, ruleFault } from '../wire/rule.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { NameParameters, NoQuery } from './parameters.ts';

interface DefinitionFamily {
  type: DefinitionType;
  url: string;
  body: TSchema;
  answer: TSchema;
  /** Checks that the schema cannot express. */
  check: (body: unknown, faults: FaultList) => void;
}

/**
 * Rules and actions that tasks reference by `{ "ref": "…" }` instead of repeating them. A task keeps the definition of
 * its submission.
 */
export function definitionRoutes(app: App, context: RouteContext): void {
  family(app, context, {
    type: 'rule',
    url: '/v1/rules',
    body: RuleDto,
    answer: RuleDefinitionDto,
    check: (body, faults) => {
      const fault = ruleFault(body as RuleDto);
      if (fault) faults.add(fault.field, fault.message);
    },
  });
  family(app, context, {
    type: 'action',
    url: '/v1/actions',
    body: NewActionDto,
    answer: ActionDefinitionDto,
    check: (body, faults) => new ActionCheck(context.config.ssrf).check(body as NewActionDto, '', faults),
  });
}

function family(app: App, { definitions }: RouteContext, { type, url, body, answer, check }: DefinitionFamily): void {
  const toWire = ({ name, body: stored, updated_at }: Definition, request: FastifyRequest) => ({
    name,
    [type]: seesSecrets(request) ? stored : redactRequests(stored),
    updated_at: isoTime(updated_at),
  });
  const notFound = (name: string) =>
    new HeddleError('NOT_FOUND', `No such ${type}: ${name}`, { details: [`name: no definition is stored as ${name}`] });
  const article = type === 'action' ? 'an' : 'a';
  const one = { 200: { description: `The ${type}.`, schema: answer } };
  const describe = (summary: string, scope: 'read' | 'operate', answers = one, problems = [404]) =>
    documented({ summary, tag: 'Definitions', scope, answers, problems });

  app.route({
    method: 'GET',
    url,
    config: { scope: 'read' },
    schema: {
      ...describe(`List ${type}s`, 'read', { 200: { description: 'All, by name.', schema: Type.Array(answer) } }, []),
      querystring: NoQuery,
    },
    handler: async (request) => (await definitions.list(type)).map((each) => toWire(each, request)),
  });
  app.route({
    method: 'GET',
    url: `${url}/:name`,
    config: { scope: 'read' },
    schema: { ...describe(`Get ${article} ${type}`, 'read'), params: NameParameters, querystring: NoQuery },
    handler: async (request) => {
      const { name } = request.params;
      const found = (await definitions.find(type, [name])).get(name);
      if (!found) throw notFound(name);
      return toWire(found, request);
    },
  });
  app.route({
    method: 'PUT',
    url: `${url}/:name`,
    config: { scope: 'operate' },
    schema: {
      ...describe(`Store ${article} ${type} under a name`, 'operate', one, [413, 415]),
      params: NameParameters,
      querystring: NoQuery,
      body,
    },
    handler: async (request) => {
      const { name } = request.params;
      const { body: given } = request;
      const faults = new FaultList(20);
      check(given, faults);
      if (faults.faults.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details: faults.faults });
      return toWire(await definitions.put(type, name, given), request);
    },
  });
  app.route({
    method: 'DELETE',
    url: `${url}/:name`,
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary: `Remove ${article} ${type}`,
        description: 'Tasks submitted with it keep it.',
        tag: 'Definitions',
        scope: 'operate',
        answers: { 204: { description: 'Deleted.' } },
        problems: [404],
      }),
      params: NameParameters,
      querystring: NoQuery,
    },
    handler: async ({ params: { name } }, reply) => {
      if (!(await definitions.remove(type, name))) throw notFound(name);
      return reply.code(204).send();
    },
  });
}
