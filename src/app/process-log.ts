import { createLogger, type Logger } from '../runtime/log.ts';
import type { SettingValues } from './settings.ts';

/** Takes whole lines. */
export interface LogSink {
  write(line: string): void;
}

/** The log of a process, on standard error unless `sink` takes it: lines for people on a terminal, JSON elsewhere. */
export function processLog(
  { logLevel: level, logFormat }: Pick<SettingValues, 'logLevel' | 'logFormat'>,
  sink?: LogSink,
): Logger {
  const terminal = process.stderr.isTTY;
  const pretty = logFormat === 'pretty' || (logFormat === 'auto' && terminal);
  const color = pretty && terminal && !process.env['NO_COLOR'];
  return createLogger({ level, pretty, color, ...(sink === undefined ? {} : { destination: sink }) });
}

/** The log of a short command: what its own output does not say. */
export function commandLog(settings: Pick<SettingValues, 'logLevel' | 'logFormat'>): Logger {
  return processLog({ ...settings, logLevel: settings.logLevel === 'info' ? 'warn' : settings.logLevel });
}
