import type { SchemaIssue } from '@heddle/base/standard-schema';
import type { EventDefinition } from '@heddle/kit/event';
import { contextOf } from './context.ts';
import { ChildFailure, cut, DETAIL_CHARACTERS_MAX, DETAILS_MAX } from './failure.ts';
import type { JobHeader } from './frames.ts';
import { findEvent } from './modules.ts';
import { serializeResult } from './serialize.ts';

const { parse } = JSON;

export interface ReceivedJob {
  readonly serial: number;
  readonly header: JobHeader;
  /** JSON. */
  readonly args: string;
}

/**
 * Loads the event, validates the arguments, runs it and serializes the result. @returns JSON @throws ChildFailure, or
 * any error of the event
 */
export async function runJob(job: ReceivedJob, signal: AbortSignal): Promise<string> {
  const { header, serial } = job;
  const event = await findEvent(header.url, header.event_name);
  const args = await checkedArgs(event, parse(job.args));
  const value: unknown = await event.run(args as never, contextOf(header, serial, signal));
  return serializeResult(value, header.result_bytes_max);
}

async function checkedArgs(event: EventDefinition, args: unknown): Promise<unknown> {
  if (event.schema === null) return args;
  const checked = await event.schema['~standard'].validate(args);
  if (checked.issues === undefined) return checked.value;
  const details = checked.issues.slice(0, DETAILS_MAX).map(detailOf);
  throw new ChildFailure('INVALID_ARGS', `invalid arguments for ${event.name}`, details);
}

function detailOf(issue: SchemaIssue): string {
  const path = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part));
  return cut(`${['args', ...path].join('.')}: ${issue.message}`, DETAIL_CHARACTERS_MAX);
}
