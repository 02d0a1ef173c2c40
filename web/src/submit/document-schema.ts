import type { Kind, Schemas } from '@heddle/client';

type Schema = Record<string, unknown>;

/** The schema of a batch, with the inputs of the kinds that the text names. */
export function batchSchema({ batch }: Schemas, kinds: readonly Kind[], text: string): Schema {
  const described = describedKinds(kinds, text);
  const items = withInputs(batch['items'] as Schema, 'metadata', kinds, described);
  return { ...batch, items, $defs: definitionsOf(described) };
}

/** The schema of a workflow, with the inputs of the kinds that the text names. */
export function workflowSchema({ workflow }: Schemas, kinds: readonly Kind[], text: string): Schema {
  const described = describedKinds(kinds, text);
  const nodes = ((workflow['$defs'] as Schema)['WorkflowNode'] as { anyOf: Schema[] }).anyOf;
  const isTask = (node: Schema): boolean => Object.hasOwn(node['properties'] as Schema, 'kind');
  const task = withInputs(nodes.find(isTask)!, 'input', kinds, described);
  const container = nodes.find((node) => !isTask(node))!;
  // A choice by one member, so that faults are those of the node that was meant.
  const node = { if: { required: ['kind'] }, then: task, else: container };
  return { ...workflow, $defs: { ...definitionsOf(described), WorkflowNode: node } };
}

function describedKinds(kinds: readonly Kind[], text: string): Kind[] {
  return kinds.filter(({ name, input_schema }) => input_schema !== null && text.includes(JSON.stringify(name)));
}

const definitionName = (index: number): string => `kind${index}`;

/** Each schema with its references made into those of the whole document. */
function definitionsOf(kinds: readonly Kind[]): Schema {
  return Object.fromEntries(
    kinds.map(({ input_schema }, index) => {
      const text = JSON.stringify(input_schema).replaceAll('"$ref":"#', `"$ref":"#/$defs/${definitionName(index)}`);
      return [definitionName(index), JSON.parse(text) as Schema];
    }),
  );
}

function withInputs(task: Schema, member: string, all: readonly Kind[], described: readonly Kind[]): Schema {
  const properties = task['properties'] as Record<string, Schema>;
  const kind = { ...properties['kind'], examples: all.map(({ name }) => name) };
  const inputs = described.map(({ name }, index) => ({
    if: { required: ['kind'], properties: { kind: { const: name } } },
    then: { properties: { [member]: { $ref: `#/$defs/${definitionName(index)}` } } },
  }));
  return { ...task, properties: { ...properties, kind }, ...(inputs.length === 0 ? {} : { allOf: inputs }) };
}
