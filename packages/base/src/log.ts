import { pino, stdTimeFunctions, type DestinationStream, type Logger as PinoLogger } from 'pino';

import type { Logger } from './logger.ts';
import { redactFields, redactText } from './redact.ts';

export { silentLogger, type Logger } from './logger.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LogOptions {
  level: LogLevel;
  /** Receives whole lines; standard error if absent, which keeps standard output for a command's results. */
  destination?: DestinationStream;
}

/**
 * Creates a logger that writes one line per entry: `{"level":"info","time":"2026-…Z","msg":"…",…}`, secrets redacted.
 */
export function createLogger(options: LogOptions): Logger {
  const destination = options.destination ?? { write: (line: string) => void process.stderr.write(line) };
  return facade(
    pino(
      {
        level: options.level,
        base: null,
        timestamp: stdTimeFunctions.isoTime,
        // An error is formatted by redactFields like any other field, so that its message is redacted too.
        serializers: { err: (value: unknown) => value },
        formatters: { level: (label) => ({ level: label }), log: redactFields },
        hooks: { streamWrite: redactText },
      },
      destination,
    ),
  );
}

function facade(logger: PinoLogger): Logger {
  return {
    writesDebug: logger.isLevelEnabled('debug'),
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    child: (fields) => facade(logger.child(redactFields(fields))),
  };
}

const LEVEL_OF_WORD: Readonly<Record<string, LogLevel>> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  off: 'silent',
  silent: 'silent',
};

const LEVELS_BY_VERBOSITY: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent'];

/** Targets that mean this service; directives for other Rust crates do not apply. */
const OWN_TARGET = /^(heddle|task_runner|task-runner)(::|$)/;

/**
 * Returns the level that a `RUST_LOG` value sets: the most verbose directive for this service (`task_runner=debug`),
 * else the global one (`info`), else `info`. A target without a level means all levels, as in Rust.
 */
export function levelFromRustLog(text: string): LogLevel {
  let general: LogLevel | undefined;
  const own: LogLevel[] = [];
  // After a slash follows a filter of messages by pattern, which is not supported.
  const [directives = ''] = text.split('/', 1);
  for (const directive of directives.split(',')) {
    const [head = '', word] = directive.split('=', 2).map((part) => part.trim().toLowerCase());
    // Span and field filters, `target[span{field=value}]=level`, narrow a target that still applies.
    const target = head.split('[', 1)[0] ?? '';
    if (word === undefined && Object.hasOwn(LEVEL_OF_WORD, head)) general = LEVEL_OF_WORD[head]!;
    else if (OWN_TARGET.test(target)) {
      const level = /([a-z]+)$/.exec(directive.trim().toLowerCase())?.[1] ?? '';
      if (!directive.includes('=')) own.push('debug');
      else if (Object.hasOwn(LEVEL_OF_WORD, level)) own.push(LEVEL_OF_WORD[level]!);
    }
  }
  return LEVELS_BY_VERBOSITY.find((level) => own.includes(level)) ?? general ?? 'info';
}
