import { untilInterrupted } from '@heddle/base/terminal/signals';

const DONE = 0;
/** Ended by Ctrl-C. */
const INTERRUPTED = 130;

/** Runs a command that Ctrl-C may end at any point, and returns its exit code. */
export function untilDone(run: (interrupted: AbortSignal) => Promise<void>): Promise<number> {
  return untilInterrupted(async (interrupted) => {
    try {
      await run(interrupted);
      return DONE;
    } catch (error) {
      if (interrupted.aborted) return INTERRUPTED;
      throw error;
    }
  });
}
