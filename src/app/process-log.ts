import { createLogger, type Logger } from '../runtime/log.ts';
import type { SettingValues } from './settings.ts';

/** The log of a process, on standard error: lines for people on a terminal, JSON elsewhere. */
export function processLog({ logLevel: level, logFormat }: Pick<SettingValues, 'logLevel' | 'logFormat'>): Logger {
  const terminal = process.stderr.isTTY;
  const pretty = logFormat === 'pretty' || (logFormat === 'auto' && terminal);
  return createLogger({ level, pretty, color: pretty && terminal && !process.env['NO_COLOR'] });
}

/** The log of a short command: what its own output does not say. */
export function commandLog(settings: Pick<SettingValues, 'logLevel' | 'logFormat'>): Logger {
  return processLog({ ...settings, logLevel: settings.logLevel === 'info' ? 'warn' : settings.logLevel });
}
