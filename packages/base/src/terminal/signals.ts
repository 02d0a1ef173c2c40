import { EXIT } from './failure.ts';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** One Ctrl-C may arrive twice: from the terminal, and forwarded by npm. */
const ECHO_MS = 700;

/**
 * Calls `run` with a signal that aborts at the first Ctrl-C (or SIGTERM, SIGHUP). A second one ends the process at
 * once; the embedded database is then stopped by its watchdog.
 * @param onForced called before the process ends by force
 */
export async function untilInterrupted<Code extends number>(
  run: (stop: AbortSignal) => Promise<Code>,
  onForced: () => void = () => undefined,
): Promise<Code> {
  const stop = new AbortController();
  let firstAt = 0;
  const onSignal = (): void => {
    if (!stop.signal.aborted) {
      firstAt = performance.now();
      stop.abort();
    } else if (performance.now() - firstAt > ECHO_MS) {
      onForced();
      process.exit(EXIT.forced);
    }
  };
  for (const name of STOP_SIGNALS) process.on(name, onSignal);
  try {
    return await run(stop.signal);
  } finally {
    for (const name of STOP_SIGNALS) process.off(name, onSignal);
  }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
