import type { TaskProcess } from './launcher.ts';
import type { LauncherParts } from './process-launcher.ts';
import { moduleUrl } from './stage.ts';
import { WorkerProcess } from './worker-process.ts';

const PIPES_CLOSE_MS = 5_000;
/** Exit code of an engine's client if the kernel killed the process: 128 plus SIGKILL. */
const KILLED = 137;

export interface AttachedPlan {
  /** Arguments of the engine's client. */
  readonly args: readonly string[];
  /** Path of the code inside the container. */
  readonly event: string;
  /** Removes the container, which outlives the client. Never rejects; may be called repeatedly. */
  readonly remove: () => Promise<void>;
}

/**
 * Attaches to a process in a container through the client of its engine. The client passes only standard input, output
 * and error, so frames arrive on standard output, and the event's own output is merged into its standard error.
 */
export async function attachedProcess(
  { settings: { container, clock }, starter }: Pick<LauncherParts, 'settings' | 'starter'>,
  { args, event, remove }: AttachedPlan,
): Promise<TaskProcess> {
  const started = await starter.start({
    command: container.command,
    args,
    // The client locates its configuration and engine through the operator's environment.
    environment: container.environment,
    directory: '/',
    user: null,
    // Frames arrive on standard output, because there is no fourth stream.
    streams: 3,
    files: [],
    behind: false,
  });
  const worker = new WorkerProcess(started, PIPES_CLOSE_MS, clock);
  return {
    worker,
    // The process priority is up to the machine that runs the engine.
    lowerPriority: () => undefined,
    restorePriority: () => undefined,
    urlOf: ({ entry }) => moduleUrl(event, entry),
    confine: () => Promise.resolve(),
    traces: () => ({
      errorOutput: worker.stderr.text,
      wasOutOfMemory: worker.exitCode === KILLED,
      memoryUse: 'unknown',
    }),
    hasStrays: () => false,
    kill: () => {
      void remove();
      worker.kill();
    },
    gone: worker.ended.then(remove),
  };
}
