import type { EventContext, EventLog, EventProgress } from '@heddle/kit/event';
import { cut } from './failure.ts';
import { FRAME, type JobHeader } from './frames.ts';
import { sendJson, sendText } from './outgoing.ts';

const { stringify } = JSON;
const uptimeSecs = process.uptime.bind(process);

/** Minimum interval; progress in between is dropped. */
const PROGRESS_EVERY_SECS = 0.05;
const LOG_LINES_MAX = 1_000;
const FIELDS_CHARACTERS_MAX = 4_000;

/** Creates the context passed to the run of a job. */
export function contextOf(header: JobHeader, serial: number, signal: AbortSignal): EventContext {
  let lastProgress = -Infinity;
  const progress = (reported: number | EventProgress): void => {
    const at = uptimeSecs();
    if (at - lastProgress < PROGRESS_EVERY_SECS) return;
    lastProgress = at;
    const { fraction, message } = typeof reported === 'number' ? { fraction: reported, message: undefined } : reported;
    sendJson(FRAME.progress, serial, {
      fraction: typeof fraction === 'number' && fraction >= 0 && fraction <= 1 ? fraction : undefined,
      message: typeof message === 'string' ? cut(message, 500) : undefined,
    });
  };
  const { correlation_id, traceparent } = header;
  return { correlation_id, traceparent, signal, log: logOf(serial), progress };
}

function logOf(serial: number): EventLog {
  let lines = 0;
  const line =
    (level: keyof EventLog) =>
    (fields: object, message: string): void => {
      lines += 1;
      if (lines > LOG_LINES_MAX) return;
      const text = lines === LOG_LINES_MAX ? 'log limit reached; omitting further lines' : cut(message);
      sendText(FRAME.log, serial, stringify({ level, message: text, fields: shortFields(fields) }));
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

function shortFields(fields: object): unknown {
  try {
    const text = stringify(fields);
    return text.length > FIELDS_CHARACTERS_MAX ? { cut: text.slice(0, FIELDS_CHARACTERS_MAX).toWellFormed() } : fields;
  } catch {
    return { cut: 'fields are not JSON' };
  }
}
