import { numberArray, uuidArray } from './transitions.ts';
import type { PlainTaskRow, SubmissionRows } from './submissions.ts';

/** The rows to insert and their time: the parameters are `submissionValues`. */
export const SUBMISSION = `row(
      row($1::uuid[], $2::text[], $3::boolean[], $4::integer[], $5::integer[], $6::uuid[], $7::text[], $8::text[]),
      row($9::uuid[], $10::uuid[], $11::boolean[], $12::boolean[], $13::boolean[]),
      row($14::uuid[], $15::uuid[], $16::integer[], $17::integer[], $18::boolean[], $19::text[], $20::text[], $21::jsonb[],
        $22::integer[], $23::smallint[], $24::integer[], $25::smallint[], $26::bigint[], $27::integer[]),
      $28::json, $29::json, $30::integer[], $31::text[])::submission`;

/** Values of `$1` to `$32`, the last of which is the time. */
export function submissionValues(rows: SubmissionRows, now: string | null): unknown[] {
  const { workflows, edges, tasks, specs, kindIds, auditEntries } = rows;
  const areLinked = edges.length > 0;
  return [
    uuidArray(workflows.map(({ id }) => id)),
    textArray(workflows.map(({ name }) => name)),
    booleanArray(workflows.map(({ linked }) => linked)),
    numberArray(workflows.map(({ task_count }) => task_count)),
    numberArray(workflows.map(({ remaining }) => remaining)),
    column(workflows, 'failed_task', uuidArray),
    textArray(workflows.map(({ kinds }) => numberArray(kinds))),
    textArray(workflows.map(({ traceparent }) => traceparent)),
    areLinked ? uuidArray(edges.map(({ parent_id }) => parent_id)) : null,
    areLinked ? uuidArray(edges.map(({ child_id }) => child_id)) : null,
    areLinked ? booleanArray(edges.map(({ requires_success }) => requires_success)) : null,
    column(edges, 'crosses', booleanArray),
    column(edges, 'relayed', booleanArray),
    ...(rows.isPlain ? plainColumns(tasks) : NO_PLAIN_COLUMNS),
    rows.isPlain ? null : JSON.stringify(tasks),
    specs.length > 0 ? JSON.stringify(specs) : null,
    numberArray(kindIds),
    auditEntries.length > 0 ? textArray(auditEntries) : null,
    now,
  ];
}

/** Values of `$14` to `$27`. */
function plainColumns(tasks: readonly PlainTaskRow[]): (string | null)[] {
  const lanes = new Set(tasks.flatMap(({ open_gates, kind_id }) => (open_gates === undefined ? [kind_id] : [])));
  return [
    uuidArray(tasks.map(({ id }) => id)),
    uuidArray(tasks.map(({ workflow_id }) => workflow_id)),
    numberArray(tasks.map(({ kind_id }) => kind_id)),
    column(tasks, 'open_gates', numberArray),
    column(tasks, 'linked', booleanArray),
    textArray(tasks.map(({ name }) => name)),
    column(tasks, 'local_id', textArray),
    column(tasks, 'metadata', jsonArray),
    numberArray([...lanes]),
    ...(['priority', 'timeout_secs', 'deadline_basis', 'expected_count', 'rule_set'] as const).map((name) =>
      column(tasks, name, numberArray),
    ),
  ];
}

const NO_PLAIN_COLUMNS = Array.from({ length: 14 }, () => null);

/** Returns the members that rows have under a name, null where one has none; null if none has any. */
function column<Name extends string, Value>(
  rows: readonly Partial<Record<Name, Value | null>>[],
  name: Name,
  format: (values: (Value | null)[]) => string,
): string | null {
  if (rows.every((row) => row[name] === undefined)) return null;
  return format(rows.map((row) => row[name] ?? null));
}

function booleanArray(booleans: readonly (boolean | null)[]): string {
  return `{${booleans.map((boolean) => boolean ?? 'null').join(',')}}`;
}

function textArray(texts: readonly (string | null)[]): string {
  return `{${texts.map((text) => (text === null ? 'null' : quoted(text))).join(',')}}`;
}

function jsonArray(values: readonly (object | null)[]): string {
  return textArray(values.map((value) => (value === null ? null : JSON.stringify(value))));
}

const SPECIAL = /["\\]/g;

function quoted(text: string): string {
  return `"${text.replaceAll(SPECIAL, '\\$&')}"`;
}
