import type { Logger } from '@heddle/base/log';
import type { Engine } from '@heddle/core/engine/port';
import type { CallReply } from '../call.ts';
import { unknownKindToWire, WARNINGS_HEADER, type SubmissionWarningDto } from '../wire/submission-warning.ts';

/** Clients limit the headers of a response. */
const HEADER_CHARS_MAX = 4_096;

/**
 * Returns warnings about the kinds of submitted tasks; also sent as a header, since not every response body can include
 * them. The submission is already stored: if the kinds cannot be checked, the response has no warnings.
 */
export async function warnOfKinds(
  { engine, log }: { engine: Pick<Engine, 'unknownKinds'>; log: Pick<Logger, 'warn'> },
  kinds: readonly string[],
  reply: Pick<CallReply, 'header'>,
): Promise<SubmissionWarningDto[]> {
  try {
    const warnings = (await engine.unknownKinds(kinds)).map(unknownKindToWire);
    if (warnings.length > 0) void reply.header(WARNINGS_HEADER, headerText(warnings));
    return warnings;
  } catch (error) {
    log.warn({ err: error }, 'could not check the kinds of a submission');
    return [];
  }
}

function headerText(warnings: readonly SubmissionWarningDto[]): string {
  for (let count = warnings.length; count > 1; count -= 1) {
    const text = asciiJson(warnings.slice(0, count));
    if (text.length <= HEADER_CHARS_MAX) return text;
  }
  return asciiJson(warnings.slice(0, 1));
}

function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
