import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after } from 'node:test';

import { keepCompiledCode } from '@heddle/base/compile-cache';
import { CATALOG_OPTIONS } from '../modules/catalog.ts';

export type Line = Record<string, unknown> & { event: string };

/** A process that reports its events as lines of JSON, to be killed at will. */
export interface Child {
  readonly process: ChildProcess;
  /** Resolves with the first line whose `event` is this; rejects where the process ends first. */
  told(event: string): Promise<Line>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** How the process ended: its exit code, or the signal's name. Everything it reported has been read by then. */
  readonly ended: Promise<number | string>;
  /** Everything that it reported until now. */
  readonly lines: readonly Line[];
  /** The end of what it wrote to standard error. */
  errors(): string;
}

// A killed process saves nothing of what it compiled, but this one, which loads much of the same, does.
keepCompiledCode(process.env);

const running = new Set<Child>();
after(() => Promise.all([...running].map((child) => child.kill())));

/** Starts a script. It ends with the test at the latest. @param script its absolute path */
export function startChild(script: string, args: readonly string[], environment: Record<string, string> = {}): Child {
  const child = spawn(process.execPath, [...CATALOG_OPTIONS, script, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...environment },
  });
  const reader = createInterface({ input: child.stdout });
  // The last lines of a killed process are still in its pipe when it is gone.
  const ended = Promise.all([once(child, 'exit'), once(reader, 'close')]).then(
    ([[code, signal]]) => (code ?? signal) as number | string,
  );
  const lines: Line[] = [];
  const waiting = new Set<(line: Line) => void>();
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-8_000)));
  reader.on('line', (text) => {
    const line = JSON.parse(text) as Line;
    lines.push(line);
    for (const take of waiting) take(line);
  });
  const told = (event: string): Promise<Line> => {
    const earlier = lines.find((line) => line.event === event);
    if (earlier !== undefined) return Promise.resolve(earlier);
    return new Promise((resolve, reject) => {
      const take = (line: Line): void => {
        if (line.event !== event) return;
        waiting.delete(take);
        resolve(line);
      };
      waiting.add(take);
      void ended.then((how) => reject(new Error(`${script} ended (${how}) before it reported "${event}":\n${errors}`)));
    });
  };
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  const self: Child = { process: child, told, kill, ended, lines, errors: () => errors };
  running.add(self);
  void ended.then(() => running.delete(self));
  return self;
}
