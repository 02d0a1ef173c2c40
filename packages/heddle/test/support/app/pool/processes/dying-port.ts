import { closeSync, openSync } from 'node:fs';

import type { YardArguments, YardPoint } from './yard-settings.ts';

/**
 * Wraps a port so that its process kills itself at the given point. `claims` decides whether this process dies: a point
 * is used once.
 */
export function dyingAt<Port extends object>(port: Port, point: YardPoint | null, claims: () => boolean): Port {
  if (point === null) return port;
  const die = (): void => {
    if (!claims()) return;
    process.kill(process.pid, 'SIGKILL');
    // No more output, not even in this tick.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  };
  return new Proxy(port, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const call = value.bind(target) as (...args: unknown[]) => unknown;
      if (name !== point.method) return call;
      return (...args: unknown[]) => {
        if (point.when === 'before') die();
        const answer = call(...args);
        if (point.when === 'before') return answer;
        if (!(answer instanceof Promise)) return dyingAfter(answer as AsyncIterable<unknown>, die);
        return answer.then((settled: unknown) => {
          die();
          return settled;
        });
      };
    },
  });
}

async function* dyingAfter(pages: AsyncIterable<unknown>, die: () => void): AsyncGenerator {
  yield* pages;
  die();
}

/** Returns true for the first process that asks. */
export function onceOf({ journal, point }: Pick<YardArguments, 'journal' | 'point'>): () => boolean {
  return () => {
    try {
      const { process: who, port, method, when } = point!;
      closeSync(openSync(`${journal}/died-${who}-${port}-${method}-${when}`, 'wx'));
      return true;
    } catch {
      return false;
    }
  };
}
