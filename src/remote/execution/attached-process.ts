import type { TaskProcess } from './launcher.ts';
import type { LauncherParts } from './process-launcher.ts';
import { moduleUrl } from './stage.ts';
import { WorkerProcess } from './worker-process.ts';

const PIPES_CLOSE_MS = 5_000;
/** What the client of an engine ends with where the kernel ended the process: 128 and SIGKILL. */
const KILLED = 137;

export interface AttachedPlan {
  /** Of the engine's client. */
  readonly args: readonly string[];
  /** Where the code lies within the container. */
  readonly event: string;
  /** Ends what the client started, which goes on without it. Never rejects; called any number of times. */
  readonly remove: () => Promise<void>;
}

/**
 * A process in a container, attached to through the client of its engine: that passes on standard input, output and error
 * and nothing else, so the answers come on standard output, and what the event writes there is joined to its standard error.
 */
export async function attachedProcess(
  { settings: { container, clock }, starter }: Pick<LauncherParts, 'settings' | 'starter'>,
  { args, event, remove }: AttachedPlan,
): Promise<TaskProcess> {
  const started = await starter.start({
    command: container.command,
    args,
    // The client finds its configuration and its engine by the operator's own environment.
    environment: container.environment,
    directory: '/',
    user: null,
    // The answers come on standard output, for want of a fourth.
    streams: 3,
    files: [],
    behind: false,
  });
  const worker = new WorkerProcess(started, PIPES_CLOSE_MS, clock);
  return {
    worker,
    // Where the engine runs it is not for this process to say.
    stepBehind: () => undefined,
    stepUp: () => undefined,
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
