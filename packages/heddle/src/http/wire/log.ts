import { Type, type Static } from 'typebox';

import { encodeLines } from '@heddle/base/log-lines';
import type { Redactor } from '@heddle/base/redactor';
import {
  LINE_CHARS_MAX,
  LOG_LEVELS,
  LOG_STREAMS,
  type EncodedLines,
  type LogPage,
} from '@heddle/base/vocabulary/task-log';
import { isoTime, nullable, oneOf, Timestamp } from './basics.ts';
import { Attempt, Holder } from './work.ts';

/** Lines of one request of a worker. */
const WORK_LINES_MAX = 1_000;

export const LogLineDto = Type.Object(
  {
    number: Type.Integer({
      description: 'From 0. Missing numbers are lines that were left out, since the attempt logged too much.',
    }),
    at: Timestamp('When the worker got it'),
    stream: oneOf(LOG_STREAMS, { description: 'The output of a command, or `log`: a line of `context.log`.' }),
    level: nullable(oneOf(LOG_LEVELS, { description: 'Of a line of `log`; else null.' })),
    text: Type.String(),
  },
  { additionalProperties: false, title: 'LogLine' },
);
export type LogLineDto = Static<typeof LogLineDto>;

export const LogPageDto = Type.Object(
  {
    attempt: nullable(Type.Integer({ description: 'The attempt that logged it; null if none has logged anything.' })),
    lines: Type.Array(LogLineDto),
    next: Type.Integer({ description: 'Continue with it as `from`.' }),
  },
  { additionalProperties: false, title: 'LogPage' },
);
export type LogPageDto = Static<typeof LogPageDto>;

export const WorkLogsDto = Type.Object(
  {
    attempt: Attempt,
    holder: Holder,
    first_line: Type.Integer({
      minimum: 0,
      maximum: 2_000_000_000,
      description:
        'Number of the first line of this request: the number of lines sent before, so that a repeat has no effect.',
    }),
    lines: Type.Array(
      Type.Object(
        {
          text: Type.String({
            maxLength: LINE_CHARS_MAX,
            pattern: '^[^\\u0000\\n]*$',
            patternMeaning: 'one line, without NUL',
          }),
          at: Type.Optional(Timestamp('By default the time of the request')),
          stream: Type.Optional(oneOf(LOG_STREAMS, { default: 'log' })),
          level: Type.Optional(oneOf(LOG_LEVELS, { default: 'info', description: 'For the stream `log`.' })),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: WORK_LINES_MAX },
    ),
  },
  { additionalProperties: false, title: 'WorkLogs' },
);
export type WorkLogsDto = Static<typeof WorkLogsDto>;

export const WorkLoggedDto = Type.Object(
  { next: Type.Integer({ description: 'Number of the next line.' }) },
  { additionalProperties: false, title: 'WorkLogged' },
);

export const EMPTY_LOG: LogPageDto = { attempt: null, lines: [], next: 0 };

export function logPageToWire({ attempt, lines, next }: LogPage): LogPageDto {
  return { attempt, lines: lines.map((line) => ({ ...line, at: isoTime(line.at) })), next };
}

/** @param redactor replaces the secrets that were sent to the worker; absent: none were */
export function linesOfWork({ lines }: WorkLogsDto, nowMs: number, redactor?: Redactor): EncodedLines {
  return encodeLines(
    lines.map(({ text, at, stream = 'log', level = 'info' }) => ({
      at: at === undefined ? nowMs : Date.parse(at),
      stream,
      level: stream === 'log' ? level : null,
      text: redactor?.text(text) ?? text,
    })),
  );
}
