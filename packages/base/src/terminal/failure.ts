/** Exit codes of every `heddle` command. */
export const EXIT = {
  ok: 0,
  /** The command failed; the message says why and what to do. */
  failed: 1,
  /** The command line or a setting is invalid; nothing was tried. */
  usage: 2,
  /** Ended by force: a second Ctrl-C while stopping. */
  forced: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A failure whose message is meant for the user of the command: it is printed without a stack. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode;
  /** USAGE: nothing was tried. */
  readonly code: 'USAGE' | 'FAILED';

  constructor(message: string, options: { exitCode?: ExitCode; code?: 'USAGE' | 'FAILED'; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CommandFailure';
    this.exitCode = options.exitCode ?? EXIT.failed;
    this.code = options.code ?? (this.exitCode === EXIT.usage ? 'USAGE' : 'FAILED');
  }
}

/** Invalid settings, one line for each: the variable, the given value and what is allowed. */
export class ConfigurationError extends CommandFailure {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.length === 1 ? faults[0]! : `The configuration is invalid:\n  ${faults.join('\n  ')}`, {
      exitCode: EXIT.usage,
    });
    this.name = 'ConfigurationError';
    this.faults = faults;
  }
}

/** Errors with a message for users, matched by name so that nothing has to be loaded. */
const USER_ERROR_NAMES = new Set([
  'CommandFailure',
  'ConfigurationError',
  'EmbeddedPostgresError',
  'MigrationError',
  'HeddleError',
  'HeddleApiError',
  'KeyFileError',
]);

/** Returns the message for users; null for a defect, which is printed with its stack. */
export function userMessageOf(error: unknown): string | null {
  return error instanceof Error && USER_ERROR_NAMES.has(error.name) ? error.message : null;
}
