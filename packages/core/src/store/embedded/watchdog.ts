import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';

import type { Logger } from '@heddle/base/log';
import { CHILD_ENVIRONMENT, runAs, type Account } from './processes.ts';

/**
 * Reads lines until its pipe closes, which the kernel does however this process ends. Unless `stopped` was announced,
 * it then stops the server (fast, after 20 s immediately), but only if it is still the announced one.
 */
const SCRIPT = `
trap '' HUP INT QUIT TERM PIPE
pid=\${2:-}
while read -r word value; do
  case "$word" in
    server) pid=$value ;;
    stopped) exit 0 ;;
  esac
done
still() { [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null && [ "$(head -n 1 "$1/postmaster.pid" 2>/dev/null)" = "$pid" ]; }
still "$1" || exit 0
kill -INT "$pid"
left=200
while [ $left -gt 0 ] && still "$1"; do sleep 0.1; left=$((left - 1)); done
still "$1" && kill -QUIT "$pid"
exit 0
`;

/** Small shell process that outlives a killed Heddle for as long as it takes to stop the server. */
export class Watchdog {
  readonly #clusterDirectory: string;
  readonly #account: Account | undefined;
  readonly #log: Logger;
  #child: ChildProcess | undefined;
  #server: number | undefined;
  #dismissed = false;

  constructor(clusterDirectory: string, account: Account | undefined, log: Logger) {
    this.#clusterDirectory = clusterDirectory;
    this.#account = account;
    this.#log = log;
    this.#start();
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Announces which server to stop. */
  guard(serverPid: number): void {
    this.#server = serverPid;
    this.#say(`server ${serverPid}`);
  }

  /** Announces that the server was stopped, so that nothing is left to watch. */
  dismiss(): void {
    this.#dismissed = true;
    this.#say('stopped');
    this.#child?.stdin?.end();
  }

  #start(): void {
    // Passed as an argument, since this process may be killed before it has written a line.
    const server = this.#server === undefined ? [] : [String(this.#server)];
    const child = spawn('/bin/sh', ['-c', SCRIPT, 'heddle-watchdog', this.#clusterDirectory, ...server], {
      cwd: '/',
      env: CHILD_ENVIRONMENT,
      // Its own session: Ctrl-C in the terminal is for Heddle, which then stops the server.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      ...runAs(this.#account),
    });
    this.#child = child;
    child.unref();
    // A child's pipe is a socket, whose handle would keep this process alive.
    (child.stdin as unknown as { unref?(): void }).unref?.();
    child.stdin.on('error', () => undefined);
    child.on('error', (error) =>
      this.#log.warn({ err: error }, 'watchdog of the embedded database could not be started'),
    );
    child.on('exit', () => {
      if (this.#dismissed || this.#child !== child) return;
      this.#log.warn({}, 'watchdog of the embedded database was killed; restarting it');
      this.#start();
    });
  }

  #say(line: string): void {
    this.#child?.stdin?.write(`${line}\n`);
  }
}

/** File in which a server records its process number. */
export function pidFile(clusterDirectory: string): string {
  return join(clusterDirectory, 'postmaster.pid');
}
