import type { FastifySchemaCompiler } from 'fastify';
import { IsOptional, type TObject, type TSchema } from 'typebox';

import { JobChangeDto, NewJobDto } from '../wire/job.ts';
import { NewTaskList } from '../wire/new-task.ts';
import { NewWorkflowDto } from '../wire/new-workflow.ts';
import { requireFit } from './check.ts';
import { readQuery } from './query.ts';

/** Handlers check submissions as a whole. */
const CHECKED_BY_HANDLER: ReadonlySet<TSchema> = new Set<TSchema>([
  NewTaskList,
  NewWorkflowDto,
  NewJobDto,
  JobChangeDto,
]);

/** Validates what a route's schema describes; faults throw the coded error that names each of them. */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  if (httpPart === 'querystring') return faultsAsResult((value) => readQuery(schema as TObject, value));
  if (httpPart === 'body' && CHECKED_BY_HANDLER.has(schema)) return (value: unknown) => ({ value });
  if (httpPart === 'body' && IsOptional(schema)) return faultsAsResult((value) => requireFit(schema, value ?? {}));
  return faultsAsResult((value) => requireFit(schema, value));
};

function faultsAsResult(check: (value: unknown) => unknown): (value: unknown) => { value: unknown } | { error: Error } {
  return (value) => {
    try {
      return { value: check(value) };
    } catch (error) {
      return { error: error as Error };
    }
  };
}
