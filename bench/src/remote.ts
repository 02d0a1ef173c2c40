import { fork } from 'node:child_process';
import { once } from 'node:events';

/** A call to another process: the name of a method and its arguments, all of them JSON. */
export interface Call {
  id: number;
  method: string;
  args: unknown[];
}

export type Reply = { id: number; value: unknown } | { id: number; error: string };

/** An object whose methods run in a separate process. */
export interface Remote {
  readonly pid: number;
  call(method: string, args: readonly unknown[]): Promise<unknown>;
  /** Ends the process: gracefully first, by force after ten seconds. */
  end(): Promise<void>;
}

/** Starts `modulePath` with `argv` in a new V8. Its standard output goes to this process's standard error. */
export function startRemote(modulePath: string, argv: readonly string[], execArgv: readonly string[] = []): Remote {
  const child = fork(modulePath, argv, {
    execArgv: [...execArgv],
    stdio: ['ignore', 2, 2, 'ipc'],
    serialization: 'json',
  });
  const waiting = new Map<number, (reply: Reply) => void>();
  let nextId = 0;
  let ended: string | null = null;
  child.on('message', (reply: Reply) => {
    const settle = waiting.get(reply.id);
    waiting.delete(reply.id);
    settle?.(reply);
  });
  child.on('exit', (code, signal) => {
    ended = `the process ended (${signal ?? `exit code ${code ?? 'unknown'}`})`;
    for (const [id, settle] of waiting) settle({ id, error: ended });
    waiting.clear();
  });
  return {
    pid: child.pid!,
    async call(method, args) {
      if (ended !== null) throw new Error(`${argv.join(' ')}: ${method}: ${ended}`);
      const id = nextId++;
      const reply = await new Promise<Reply>((resolve) => {
        waiting.set(id, resolve);
        child.send({ id, method, args: [...args] } satisfies Call);
      });
      if ('error' in reply) throw new Error(`${argv.join(' ')}: ${method}: ${reply.error}`);
      return reply.value;
    },
    async end() {
      if (ended !== null) return;
      const exited = once(child, 'exit');
      const force = setTimeout(() => child.kill('SIGKILL'), 10_000);
      if (child.connected) child.disconnect();
      await exited;
      clearTimeout(force);
    },
  };
}

/** The other side: handles calls with the methods of `target` until the parent exits, then runs `onEnd` and exits. */
export function serve(
  target: Record<string, (...args: never[]) => Promise<unknown>>,
  onEnd: () => Promise<void>,
): void {
  process.on('message', (call: Call) => {
    const method = target[call.method] as ((...args: unknown[]) => Promise<unknown>) | undefined;
    const answer = (reply: Reply): void => {
      if (process.connected) process.send!(reply);
    };
    if (method === undefined) {
      answer({ id: call.id, error: 'no such method' });
      return;
    }
    method(...call.args).then(
      (value) => answer({ id: call.id, value: value ?? null }),
      (error: unknown) =>
        answer({ id: call.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
  process.on('disconnect', () => {
    onEnd().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
}
