/** The failure of a task because of how the command that it ran ended. */
export class CommandFailure extends Error {
  /** Null if it was killed. */
  readonly exitCode: number | null;

  constructor(message: string, exitCode: number | null) {
    super(message);
    this.name = 'CommandFailure';
    this.exitCode = exitCode;
  }
}
