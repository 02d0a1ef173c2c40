/** Exit codes of every `heddle` command. */
export const EXIT = {
  ok: 0,
  /** What was asked for failed; the message says why and what helps. */
  failed: 1,
  /** The command line or a setting is not valid; nothing was tried. */
  usage: 2,
  /** Ended by force: a second Ctrl-C while stopping. */
  forced: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A failure whose message is meant for the person at the terminal: it is printed without a stack. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, options: { exitCode?: ExitCode; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CommandFailure';
    this.exitCode = options.exitCode ?? EXIT.failed;
  }
}

/** Settings that cannot be used; one line for each, naming the variable, what was given and what is allowed. */
export class ConfigurationError extends CommandFailure {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.length === 1 ? faults[0]! : `The configuration is not valid:\n  ${faults.join('\n  ')}`, {
      exitCode: EXIT.usage,
    });
    this.name = 'ConfigurationError';
    this.faults = faults;
  }
}

/** Errors whose message was written for people; told apart by name, so that nothing is loaded for it. */
const SPEAKING = new Set([
  'CommandFailure',
  'ConfigurationError',
  'EmbeddedPostgresError',
  'MigrationError',
  'HeddleError',
  'HeddleApiError',
  'KeyFileError',
]);

/** The sentence for people, where the error is of a kind that has one; null for a defect, which deserves its stack. */
export function sentenceOf(error: unknown): string | null {
  return error instanceof Error && SPEAKING.has(error.name) ? error.message : null;
}
