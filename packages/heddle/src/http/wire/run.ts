import { Type, type Static } from 'typebox';

import { RUN_TYPES, RUN_WIRE_STATE, RUN_WIRE_STATES, type Run, type RunWireState } from '@heddle/base/vocabulary/run';
import type { RunList, RunNameList } from '@heddle/core/engine/runs/port';
import { Count, isoTime, isoTimeOrNull, nullable, oneOf, Timestamp, Uuid } from './basics.ts';

export const RunStateDto = Type.Unsafe<RunWireState>(
  oneOf([...RUN_WIRE_STATES] as RunWireState[], {
    description:
      'State of a batch or a workflow. A batch in which any task failed is `PartiallyFailed` if any succeeded, else `Failed`.',
  }),
);

export const RunTypeDto = oneOf([...RUN_TYPES], { description: 'Whether it is a batch or a workflow.' });

const counts = Type.Object(
  {
    total: Count('All its tasks so far; generators add to them.'),
    remaining: Count('Tasks that have not ended.'),
    succeeded: Count('Tasks that succeeded.'),
    failed: Count('Tasks that failed, timed out or failed partially.'),
    canceled: Count('Canceled tasks.'),
    skipped: Count('Tasks that were disabled: by the submitter, by a branch, or by a stopped sequence.'),
  },
  { additionalProperties: false },
);

const runProperties = {
  id: Uuid('The batch or workflow.'),
  type: RunTypeDto,
  name: nullable(Type.String()),
  title: Type.String({ description: 'Its name, or else its kinds: `fetch, invoice and 1 more`.' }),
  state: RunStateDto,
  counts,
  reason: nullable(Type.String({ description: 'Why its first failed task failed.' })),
  failed_task: nullable(Type.Object({ id: Uuid('The task.'), name: Type.String() }, { additionalProperties: false })),
  job: nullable(Type.Object({ id: Uuid('The job.'), name: Type.String() }, { additionalProperties: false })),
  kinds: Type.Array(Type.String(), { description: 'Kinds of its tasks, in their order; at most 20.' }),
  created_at: Timestamp('When it was submitted'),
  started_at: nullable(
    Timestamp('When the first of its tasks started; of a larger run, the first of 50 of its earliest submitted tasks'),
  ),
  ended_at: nullable(Timestamp('When its last task ended')),
  archived: Type.Boolean(),
};

export const RunDto = Type.Object(runProperties, { additionalProperties: false, title: 'Run' });
export type RunDto = Static<typeof RunDto>;

export const RunDetailDto = Type.Object(
  { ...runProperties, root_id: nullable(Uuid('The root container of a workflow.')) },
  { additionalProperties: false, title: 'RunDetail' },
);
export type RunDetailDto = Static<typeof RunDetailDto>;

const listProperties = {
  next: nullable(Uuid('The `after` of the next page; null if this is the last.')),
  examined: Count('Runs that were examined for this page.'),
};

export const RunListDto = Type.Object(
  { runs: Type.Array(RunDto), ...listProperties },
  { additionalProperties: false, title: 'RunList' },
);
export type RunListDto = Static<typeof RunListDto>;

export const RunNameDto = Type.Object(
  {
    name: Type.String(),
    last: RunDto,
    recent: Type.Array(
      Type.Object(
        {
          id: Uuid('The run.'),
          state: RunStateDto,
          created_at: Timestamp('When it was submitted'),
          ended_at: nullable(Timestamp('When its last task ended')),
        },
        { additionalProperties: false },
      ),
      { description: 'Its newest runs, `last` included; at most 20.' },
    ),
  },
  { additionalProperties: false, title: 'RunName' },
);
export type RunNameDto = Static<typeof RunNameDto>;

export const RunNameListDto = Type.Object(
  { names: Type.Array(RunNameDto), ...listProperties },
  { additionalProperties: false, title: 'RunNameList' },
);
export type RunNameListDto = Static<typeof RunNameListDto>;

export function runToWire(run: Run): RunDto {
  return {
    ...run,
    state: RUN_WIRE_STATE[run.state],
    created_at: isoTime(run.created_at),
    started_at: isoTimeOrNull(run.started_at),
    ended_at: isoTimeOrNull(run.ended_at),
  };
}

export function runDetailToWire(run: Run): RunDetailDto {
  return { ...runToWire(run), root_id: run.type === 'workflow' ? run.id : null };
}

export function runListToWire({ runs, next, examined }: RunList): RunListDto {
  return { runs: runs.map(runToWire), next, examined };
}

export function runNamesToWire({ names, next, examined }: RunNameList): RunNameListDto {
  return {
    names: names.map(({ name, last, recent }) => ({
      name,
      last: runToWire(last),
      recent: recent.map((run) => ({
        id: run.id,
        state: RUN_WIRE_STATE[run.state],
        created_at: isoTime(run.created_at),
        ended_at: isoTimeOrNull(run.ended_at),
      })),
    })),
    next,
    examined,
  };
}
