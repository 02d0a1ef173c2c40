import { HeddleError } from '@heddle/base/errors';
import { MANAGER_QUEUE } from '../../domain/message.ts';
import { encodeManagerMessage } from '../../domain/parse/encode.ts';
import { placeOf } from '@heddle/base/parse/path';
import { parseWorkflow, type ParsedWorkflow } from '../../domain/parse/workflow.ts';
import { fixedIds, type WorkflowDefinition } from '../../domain/schedule.ts';
import type { Queryable } from '../../store/database.ts';
import { planFlow } from '../flow/plan.ts';
import { notifyFaults } from '../notices/check.ts';
import type { JobContext } from './context.ts';

/** Limit of a definition, since every message that starts it holds a copy; generators make small workflows large. */
const DEFINITION_BYTES_MAX = 1024 * 1024;
const DETAILS_MAX = 20;
/** Messages per call; a definition may be large. */
const SEND_MAX = 10;

export type DefinitionCheck = ({ ok: true } & ParsedWorkflow) | { ok: false; faults: string[] };

/** Parses a job's workflow with new ids for its nodes, or returns its faults. Never throws. */
export function readDefinition(workflow: WorkflowDefinition, newId: () => string): DefinitionCheck {
  const bytes = Buffer.byteLength(JSON.stringify(workflow));
  if (bytes > DEFINITION_BYTES_MAX) {
    return { ok: false, faults: [`workflow: must have at most ${DEFINITION_BYTES_MAX} bytes (got ${bytes})`] };
  }
  const parsed = parseWorkflow(workflow, newId);
  const faults = parsed.ok
    ? [
        ...fixedIds(workflow['root']),
        ...notifyFaults(parsed.notify, parsed.root),
        ...planFlow(parsed.root, placeOf(null, 'root')).faults,
      ]
    : parsed.faults;
  if (parsed.ok && faults.length === 0) return parsed;
  return { ok: false, faults: faults.slice(0, DETAILS_MAX).map((fault) => atWorkflow(fault)) };
}

function atWorkflow(fault: string): string {
  return fault.startsWith('body:') ? `workflow${fault.slice('body'.length)}` : `workflow.${fault}`;
}

/** Returns every fault of a definition, each with its path from `workflow`. */
export function definitionFaults(workflow: WorkflowDefinition, newId: () => string): string[] {
  const read = readDefinition(workflow, newId);
  return read.ok ? [] : read.faults;
}

/** @throws HeddleError VALIDATION_FAILED */
export function requireDefinition(workflow: WorkflowDefinition, newId: () => string): void {
  const details = definitionFaults(workflow, newId);
  if (details.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details });
}

/** Run to start; its workflow has the id of the run, so that a repeated message stores one workflow. */
export interface RunToStart {
  run_id: string;
  job_name: string;
  workflow: WorkflowDefinition;
  /** Trace that its workflow continues. */
  traceparent?: string | null;
}

/** Hands runs to the manager; their messages are sent if and when the transaction commits. */
export async function sendRuns(context: JobContext, tx: Queryable, runs: readonly RunToStart[]): Promise<void> {
  for (let from = 0; from < runs.length; from += SEND_MAX) {
    const messages = runs
      .slice(from, from + SEND_MAX)
      .map((run) => ({ id: run.run_id, body: messageOf(context, run) }));
    await context.queue.sendIn(tx, MANAGER_QUEUE, messages);
  }
}

function messageOf(context: JobContext, { run_id, job_name, workflow, traceparent = null }: RunToStart): string {
  const read = readDefinition(workflow, () => context.newId());
  if (!read.ok) throw new Error(`the definition of job ${job_name} was checked and is not valid: ${read.faults[0]}`);
  return encodeManagerMessage({
    type: 'CreateTaskCollection',
    collection: { name: read.name ?? job_name, root: { ...read.root, id: run_id }, notify: read.notify },
    job_run_id: run_id,
    ...(traceparent === null ? {} : { traceparent }),
  });
}
