import { Type, type Static } from 'typebox';

import { CONFIDENCES } from '@heddle/base/vocabulary/confidence';
import { VERDICTS } from '@heddle/base/vocabulary/verdict';
import {
  COMMENT_CHARACTERS_MAX,
  FINDING_STATES,
  ELSEWHERE_MAX,
  TRIAGE_STATES,
  type FindingDetail,
  type ScanRun,
  type ScanTarget,
  type TrackedFinding,
} from '@heddle/core/domain/finding';
import { isoTime, isoTimeOrNull, nullable, oneOf, Timestamp, Uuid } from './basics.ts';
import { BulkOperationDto } from './operation.ts';

const Many = (description: string) => Type.Integer({ minimum: 0, description });

export const FindingStateWire = oneOf([...FINDING_STATES], {
  description:
    '`new`: first found by the latest run, or found again after it was gone; `known`: also found by earlier runs; `gone`: not found by a complete run.',
});

export const TriageStateWire = oneOf([...TRIAGE_STATES], {
  description: 'Triage status; scans do not change it.',
});

export const ConfidenceWire = oneOf([...CONFIDENCES], { description: 'How certain it is that this is a secret.' });

export const VerdictWire = oneOf([...VERDICTS], {
  description:
    '`active`: the provider accepted the secret; `inactive`: it rejected it, or it has expired; `unknown`: neither could be established.',
});

const VerificationDto = Type.Object(
  {
    verdict: VerdictWire,
    reason: Type.String({ description: 'One sentence, without the secret.' }),
    checked_at: Timestamp('When it was established'),
    identity: nullable(Type.String({ description: 'Whose secret it is, as the provider says.' })),
    permissions: Type.Array(Type.String(), { description: 'What it permits, as the provider says.' }),
  },
  { additionalProperties: false, description: 'What its provider said of the secret.' },
);

const TriageDto = Type.Object(
  {
    state: TriageStateWire,
    by: nullable(Type.String({ description: 'Name of the token that set it.' })),
    at: nullable(Timestamp('When it was set')),
    comment: nullable(Type.String()),
  },
  { additionalProperties: false },
);

const findingProperties = {
  id: Uuid('The finding.'),
  target: Type.String({ description: 'The scanned target, as named by the workflow.' }),
  fingerprint: Type.String({ description: '32 hexadecimal digits of rule, path and secret.' }),
  rule_id: Type.String(),
  description: Type.String({ description: 'What the rule finds.' }),
  tags: Type.Array(Type.String()),
  path: Type.String({ description: 'The object; entries of archives follow their archive after `!`.' }),
  redacted: Type.String({ description: 'The beginning of the secret. The secret itself is stored nowhere.' }),
  occurrences: Many('Number of occurrences of the secret in the object.'),
  line: Many('From 1; this and the following members describe the first occurrence.'),
  column: Many('From 1, in bytes.'),
  end_line: Many('Where the match ends.'),
  end_column: Many('Where the match ends.'),
  entropy: Type.Number({ description: 'Bits a character.' }),
  encodings: Type.Array(Type.String(), { description: 'Encodings of the secret, outermost first: `base64`.' }),
  confidence: ConfidenceWire,
  confidence_reason: nullable(Type.String({ description: 'Why, without the secret.' })),
  key_path: nullable(Type.String({ description: 'Where a structured file holds it: `spec.env[3].value`.' })),
  key_name: nullable(
    Type.String({ description: 'The name beside it, where that is not the last key: `DB_PASSWORD`.' }),
  ),
  commit: nullable(
    Type.Object(
      {
        id: Type.String(),
        author: Type.String(),
        date: Type.String(),
        subject: nullable(Type.String({ description: 'The first line of its message, without secrets.' })),
      },
      { additionalProperties: false },
    ),
  ),
  secret_id: nullable(
    Type.String({ description: '32 hexadecimal digits of the secret: the same wherever it was found.' }),
  ),
  verification: nullable(VerificationDto),
  state: FindingStateWire,
  runs: Many('Runs that found it.'),
  first_seen: Timestamp('Start of the first run that found it'),
  last_seen: Timestamp('Start of the latest run that found it'),
  gone_at: nullable(Timestamp('Start of the run that no longer found it')),
  triage: TriageDto,
};

export const FindingDto = Type.Object(findingProperties, { additionalProperties: false, title: 'Finding' });
export type FindingDto = Static<typeof FindingDto>;

const LineDto = Type.Object(
  {
    number: Type.Integer({ minimum: 1, description: 'From 1; not consecutive after a secret of several lines.' }),
    text: Type.String({ description: 'Secrets masked; cut to about 200 characters, with `…`.' }),
    mark: nullable(
      Type.Object(
        { start: Many('In UTF-16 units.'), end: Many('The unit after it.') },
        { additionalProperties: false, description: 'The part of the text that matched.' },
      ),
    ),
  },
  { additionalProperties: false },
);

const SamePlaceDto = Type.Object(
  {
    id: Uuid('The other finding.'),
    target: Type.String(),
    path: Type.String(),
    line: Many('From 1.'),
    state: FindingStateWire,
    triage: TriageStateWire,
    first_seen: Timestamp('Start of the first run that found it'),
    last_seen: Timestamp('Start of the latest run that found it'),
  },
  { additionalProperties: false },
);

export const FindingDetailDto = Type.Object(
  {
    ...findingProperties,
    context: Type.Array(LineDto, {
      description: 'The lines around the first occurrence; empty if there is none to show.',
    }),
    elsewhere: Type.Array(SamePlaceDto, {
      description: `Other findings of the same secret, newest first, at most ${ELSEWHERE_MAX}; all of them are at \`/v1/findings?secret=\` with the \`secret_id\`.`,
    }),
  },
  { additionalProperties: false, title: 'FindingDetail' },
);
export type FindingDetailDto = Static<typeof FindingDetailDto>;

const change = {
  triage: TriageStateWire,
  comment: Type.Optional(
    nullable(
      Type.String({
        minLength: 1,
        maxLength: COMMENT_CHARACTERS_MAX,
        pattern: '^[^\\u0000]*$',
        patternMeaning: 'string without NUL',
        description: 'Reason; replaces the previous comment.',
      }),
    ),
  ),
};

export const FindingChangeDto = Type.Object(change, { additionalProperties: false, title: 'FindingChange' });
export type FindingChangeDto = Static<typeof FindingChangeDto>;

export const BulkTriageDto = Type.Object(
  { ...change, ids: BulkOperationDto.properties.ids },
  { additionalProperties: false, title: 'BulkTriage' },
);
export type BulkTriageDto = Static<typeof BulkTriageDto>;

const counts = {
  new: Many('New in this run.'),
  known: Many('Found by this and earlier runs.'),
  gone: Many('Gone since this run.'),
};

export const ScanRunDto = Type.Object(
  {
    id: Uuid('The task that merged the run.'),
    number: Type.Integer({ minimum: 1, description: 'From 1, by target.' }),
    started_at: Timestamp('When merging began'),
    ended_at: nullable(Timestamp('When it ended')),
    complete: Type.Boolean({ description: 'Whether it covered everything; only then are findings gone.' }),
    ...counts,
    by_rule: Type.Array(Type.Object({ rule_id: Type.String(), ...counts }, { additionalProperties: false })),
  },
  { additionalProperties: false },
);

export const ScanTargetDto = Type.Object(
  {
    target: Type.String(),
    runs: Many('Runs so far.'),
    last_run: nullable(ScanRunDto),
  },
  { additionalProperties: false, title: 'ScanTarget' },
);
export type ScanTargetDto = Static<typeof ScanTargetDto>;

export function findingToWire(tracked: TrackedFinding): FindingDto {
  const { tags, encodings, commit, triage, gone_at, verification, ...finding } = tracked;
  return {
    ...finding,
    ...placeTimes(finding),
    tags: [...tags],
    encodings: [...encodings],
    verification: verification === null ? null : { ...verification, permissions: [...verification.permissions] },
    commit: commit === null ? null : { ...commit, subject: commit.subject ?? null },
    gone_at: isoTimeOrNull(gone_at),
    triage: { ...triage, at: isoTimeOrNull(triage.at) },
  };
}

export function findingDetailToWire({ context, elsewhere, ...finding }: FindingDetail): FindingDetailDto {
  return {
    ...findingToWire(finding),
    context: context.map(({ mark, ...line }) => ({ ...line, mark: mark ?? null })),
    elsewhere: elsewhere.map((place) => ({ ...place, ...placeTimes(place) })),
  };
}

function placeTimes({ first_seen, last_seen }: Pick<TrackedFinding, 'first_seen' | 'last_seen'>) {
  return { first_seen: isoTime(first_seen), last_seen: isoTime(last_seen) };
}

export function scanTargetToWire({ target, runs, last_run }: ScanTarget): ScanTargetDto {
  return { target, runs, last_run: last_run === null ? null : runToWire(last_run) };
}

function runToWire({ target: _, started_at, ended_at, by_rule, ...run }: ScanRun): Static<typeof ScanRunDto> {
  return {
    ...run,
    started_at: isoTime(started_at),
    ended_at: isoTimeOrNull(ended_at),
    by_rule: by_rule.map((rule) => ({ ...rule })),
  };
}
