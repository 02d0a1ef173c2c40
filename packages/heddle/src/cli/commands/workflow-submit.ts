import type { ClientContext } from '../output/client-command.ts';
import type { ClientExit } from '../output/exit-codes.ts';
import { UsageFailure } from '../output/failure.ts';
import { readJsonFile, sourceName } from '../output/json-file.ts';
import { count, printable } from '@heddle/base/terminal/text';
import type { NewWorkflow } from '../output/wire.ts';

export interface WorkflowSubmitOptions {
  watch?: boolean;
  idempotencyKey?: string;
  name?: string;
}

const FORM =
  'a workflow is an object: { "name": "first", "root": { "mode": "sequential", "children": [{ "kind": "demo" }] } }';

/** @param follow what `--watch` does */
export async function submitWorkflow(
  context: ClientContext,
  { watch = false, idempotencyKey, name }: WorkflowSubmitOptions,
  file: string,
  follow: (context: ClientContext, id: string) => Promise<ClientExit>,
): Promise<ClientExit | undefined> {
  const { client, output, url, io } = context;
  const value = await readJsonFile(file, io.stdin, FORM);
  if (typeof value !== 'object' || value === null || !('root' in value)) {
    throw new UsageFailure(`${sourceName(file)} does not contain a workflow`, { hint: FORM });
  }
  const given = value as NewWorkflow;
  const submitted = await client.submitWorkflow(
    name === undefined ? given : { ...given, name },
    idempotencyKey === undefined ? {} : { idempotencyKey },
  );
  const { id } = submitted;
  const page = `${url}/runs/${id}`;
  if (output.json && watch) output.document({ event: 'submitted', workflow_id: id, page, ...submitted });
  else
    output.result({ workflow_id: id, page, ...submitted }, () => {
      const what = `${count(submitted.task_count, 'task')} in ${count(submitted.container_count, 'container')}`;
      const before = submitted.replayed ? ', already exists: nothing was created' : '';
      output.line(`workflow ${output.paint('bold', id)}: ${what}${before}`);
      output.line(`see it at ${page}`);
    });
  for (const { message } of submitted.warnings) output.notice(`warning: ${printable(message)}`);
  return watch ? follow(context, id) : undefined;
}
