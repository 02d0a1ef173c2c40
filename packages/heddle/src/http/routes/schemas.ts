import { NewActionDto } from '../wire/action.ts';
import { NewTaskList } from '../wire/new-task.ts';
import { NewWorkflowDto, WorkflowNode } from '../wire/new-workflow.ts';
import { RuleDto } from '../wire/rule.ts';
import { SchemasDto } from '../wire/schemas.ts';
import type { App } from './context.ts';
import { documented } from './document.ts';
import { NoQuery } from './parameters.ts';

/** A schema that stands by itself: the nodes of a workflow are recursive. */
const alone = (schema: object): Record<string, unknown> => {
  const { $id: _id, ...node } = WorkflowNode as typeof WorkflowNode & { $id?: string };
  const whole = JSON.stringify({ ...schema, $defs: { WorkflowNode: node } });
  return JSON.parse(whole.replaceAll('"WorkflowNode#"', '"#/$defs/WorkflowNode"')) as Record<string, unknown>;
};

/** The route with the schemas of what can be submitted, for editors. */
export function schemaRoutes(app: App): void {
  const schemas = {
    batch: { ...NewTaskList },
    workflow: alone(NewWorkflowDto),
    rule: { ...RuleDto },
    action: { ...NewActionDto },
  } as Record<'batch' | 'workflow' | 'rule' | 'action', Record<string, unknown>>;
  app.route({
    method: 'GET',
    url: '/v1/schemas',
    config: { scope: 'read' },
    schema: {
      ...documented({
        summary: 'Get the schemas of what can be submitted',
        description: 'JSON Schema, for editors. The inputs of tasks are described by their kinds.',
        tag: 'Kinds',
        scope: 'read',
        answers: { 200: { description: 'The schemas.', schema: SchemasDto } },
      }),
      querystring: NoQuery,
    },
    handler: () => schemas,
  });
}
