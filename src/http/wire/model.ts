import { Type, type Static } from 'typebox';

import { MODEL_STATES, type ModelRun, type ModelTarget, type TrackedModel } from '../../domain/model-record.ts';
import { isoTime, isoTimeOrNull, nullable, oneOf, Timestamp, Uuid } from './basics.ts';

const Many = (description: string) => Type.Integer({ minimum: 0, description });

export const ModelStateWire = oneOf([...MODEL_STATES], {
  description:
    '`new`: the latest run that saw it saw it first, or saw it again after it was gone; `changed`: it saw other data than the run before; `known`: the same; `gone`: a run that looked at everything did not see it.',
});

const ModelChangeDto = Type.Object(
  {
    field: Type.String({ description: 'A member of the data.' }),
    old: Type.Unknown({ description: 'Null where it was absent; cut to a text where it is long.' }),
    new: Type.Unknown({ description: 'Null where it is absent; cut to a text where it is long.' }),
  },
  { additionalProperties: false },
);

export const ModelDto = Type.Object(
  {
    id: Uuid('The model.'),
    target: Type.String({ description: 'The name that the runs which saw it keep their models under.' }),
    model: Type.String({ description: '`host`, `service`, `name`, `tls`, `certificate`, or a name of your own.' }),
    key: Type.String({ description: 'Tells it from others of its sort: an address, a name, a fingerprint.' }),
    data: Type.Record(Type.String(), Type.Unknown(), { description: 'As the latest run saw it.' }),
    state: ModelStateWire,
    runs: Many('Runs that saw it.'),
    first_seen: Timestamp('Start of the first run that saw it'),
    last_seen: Timestamp('Start of the latest run that saw it'),
    changed_at: Timestamp('Start of the latest run that it was new, changed or gone in'),
    gone_at: nullable(Timestamp('Start of the run that did not see it any more')),
    first_run: Many('Number of the first run that saw it.'),
    last_run: Many('Number of the latest run that saw it.'),
    changed_run: Many('Number of the latest run that it was new, changed or gone in.'),
    changes: Type.Array(ModelChangeDto, {
      description: 'What was different in `changed_run`, at most 50 members; none where it was new then, or is gone.',
    }),
  },
  { additionalProperties: false, title: 'Model' },
);
export type ModelDto = Static<typeof ModelDto>;

const counts = {
  new: Many('New in this run.'),
  changed: Many('Seen by it with other data than before.'),
  known: Many('Seen by it as before.'),
  gone: Many('Gone since this run.'),
};

const ModelRunDto = Type.Object(
  {
    id: Uuid('The task that merged the run.'),
    number: Type.Integer({ minimum: 1, description: 'From 1, by target.' }),
    started_at: Timestamp('When merging began'),
    ended_at: nullable(Timestamp('When it ended')),
    complete: Type.Boolean({ description: 'Whether it looked at everything; only then are models gone.' }),
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
