import { Type, type Static } from 'typebox';

import { MODEL_STATES, type ModelRun, type ModelTarget, type TrackedModel } from '@heddle/core/domain/model-record';
import { isoTime, isoTimeOrNull, nullable, oneOf, Timestamp, Uuid } from './basics.ts';

const Many = (description: string) => Type.Integer({ minimum: 0, description });

export const ModelStateWire = oneOf([...MODEL_STATES], {
  description:
    '`new`: first seen by the latest run, or seen again after it was gone; `changed`: its data differ from the previous run; `known`: they are the same; `gone`: not seen by a complete run.',
});

const ModelChangeDto = Type.Object(
  {
    field: Type.String({ description: 'A member of the data.' }),
    old: Type.Unknown({ description: 'Null if it was absent; truncated to a string if it is long.' }),
    new: Type.Unknown({ description: 'Null if it is absent; truncated to a string if it is long.' }),
  },
  { additionalProperties: false },
);

export const ModelDto = Type.Object(
  {
    id: Uuid('The model.'),
    target: Type.String({ description: 'The target of the runs that observed it.' }),
    model: Type.String({ description: '`host`, `service`, `name`, `tls`, `certificate`, or a custom type.' }),
    key: Type.String({ description: 'Identifies it among models of its type: an address, a name, a fingerprint.' }),
    data: Type.Record(Type.String(), Type.Unknown(), { description: 'As the latest run saw it.' }),
    state: ModelStateWire,
    runs: Many('Runs that saw it.'),
    first_seen: Timestamp('Start of the first run that saw it'),
    last_seen: Timestamp('Start of the latest run that saw it'),
    changed_at: Timestamp('Start of the latest run that it was new, changed or gone in'),
    gone_at: nullable(Timestamp('Start of the run that no longer saw it')),
    first_run: Many('Number of the first run that saw it.'),
    last_run: Many('Number of the latest run that saw it.'),
    changed_run: Many('Number of the latest run that it was new, changed or gone in.'),
    changes: Type.Array(ModelChangeDto, {
      description: 'Changes in `changed_run`, at most 50 members; empty if it was new then, or is gone.',
    }),
  },
  { additionalProperties: false, title: 'Model' },
);
export type ModelDto = Static<typeof ModelDto>;

const counts = {
  new: Many('New in this run.'),
  changed: Many('Seen by this run with changed data.'),
  known: Many('Seen by this run unchanged.'),
  gone: Many('Gone since this run.'),
};

const ModelRunDto = Type.Object(
  {
    id: Uuid('The task that merged the run.'),
    number: Type.Integer({ minimum: 1, description: 'From 1, by target.' }),
    started_at: Timestamp('When merging began'),
    ended_at: nullable(Timestamp('When it ended')),
    complete: Type.Boolean({ description: 'Whether it covered everything; only then are models gone.' }),
    ...counts,
    by_model: Type.Array(Type.Object({ model: Type.String(), ...counts }, { additionalProperties: false })),
  },
  { additionalProperties: false },
);

export const ModelTargetDto = Type.Object(
  { target: Type.String(), runs: Many('Runs so far.'), last_run: nullable(ModelRunDto) },
  { additionalProperties: false, title: 'ModelTarget' },
);
export type ModelTargetDto = Static<typeof ModelTargetDto>;

export function modelToWire(model: TrackedModel): ModelDto {
  const { first_seen, last_seen, changed_at, gone_at, changes, ...rest } = model;
  return {
    ...rest,
    first_seen: isoTime(first_seen),
    last_seen: isoTime(last_seen),
    changed_at: isoTime(changed_at),
    gone_at: isoTimeOrNull(gone_at),
    changes: changes.map((change) => ({ ...change })),
  };
}

export function modelTargetToWire({ target, runs, last_run }: ModelTarget): ModelTargetDto {
  return { target, runs, last_run: last_run === null ? null : runToWire(last_run) };
}

function runToWire({ target: _, started_at, ended_at, by_model, ...run }: ModelRun): Static<typeof ModelRunDto> {
  return {
    ...run,
    started_at: isoTime(started_at),
    ended_at: isoTimeOrNull(ended_at),
    by_model: by_model.map((each) => ({ ...each })),
  };
}
