import { prettySink } from '@heddle/base/log-pretty';
import { createLogger, type Logger } from '@heddle/base/log';
import type { SettingValues } from './settings.ts';

/** Receives whole lines. */
export interface LogSink {
  write(line: string): void;
}

type LogSettings = Pick<SettingValues, 'logLevel' | 'logFormat'>;

const STANDARD_ERROR: LogSink = { write: (line) => void process.stderr.write(line) };
const ERROR_LINE = '{"level":"error"';

/**
 * Returns the log of a process, on standard error unless `sink` is given: plain lines on a terminal, JSON elsewhere.
 */
export function processLog(settings: LogSettings, sink: LogSink = STANDARD_ERROR): Logger {
  return createLogger({ level: settings.logLevel, destination: readable(settings, sink) });
}

/** Returns the log of a short command, for what its own output does not show. */
export function commandLog(settings: LogSettings): Logger {
  return processLog({ ...settings, logLevel: settings.logLevel === 'info' ? 'warn' : settings.logLevel });
}

export interface FiledLog {
  file: LogSink;
  terminal?: LogSink;
  /** Logs everything to the terminal too; otherwise only errors and lines that could not be written to the file. */
  verbose: boolean;
}

/** Returns a log that is kept in a file. */
export function filedLog(settings: LogSettings, { file, terminal = STANDARD_ERROR, verbose }: FiledLog): Logger {
  const shown = readable(settings, terminal);
  const kept = settings.logFormat === 'pretty' ? prettySink(file, false) : file;
  const write = (line: string): void => {
    let lost = false;
    try {
      kept.write(line);
    } catch {
      lost = true;
    }
    if (verbose || lost || line.startsWith(ERROR_LINE)) shown.write(line);
  };
  return createLogger({ level: settings.logLevel, destination: { write } });
}

function readable({ logFormat }: LogSettings, sink: LogSink): LogSink {
  const terminal = process.stderr.isTTY;
  const wanted = logFormat === 'pretty' || (logFormat === 'auto' && terminal);
  return wanted ? prettySink(sink, terminal && !process.env['NO_COLOR']) : sink;
}
