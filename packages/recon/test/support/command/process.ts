/** Runs `heddle-recon` as a process, in a separate directory. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';

import { COMMAND_ENVIRONMENT, ended, WorkingDirectory, type Ended } from '@heddle/test-support/cli/command-process';
import { CATALOG_OPTIONS } from '@heddle/test-support/modules/catalog';

export const MAIN = join(import.meta.dirname, '../../../src/command/main.ts');

export class ReconDirectory extends WorkingDirectory {
  /** Further environment variables of its processes. */
  environment: Readonly<Record<string, string>> = {};

  probe(...args: readonly string[]): ChildProcess {
    const env = { ...COMMAND_ENVIRONMENT, ...this.environment };
    return spawn(process.execPath, [...CATALOG_OPTIONS, MAIN, ...args], { cwd: this.path, env });
  }

  recon(args: readonly string[], stdin = ''): Promise<Ended> {
    return ended(this.probe(...args), stdin);
  }
}

export interface Listening extends AsyncDisposable {
  readonly port: number;
  /** Connections so far. */
  readonly accepted: number;
}

/** A listener on loopback that sends something to each client. */
export async function listening(greeting = '', ip = '127.0.0.1'): Promise<Listening> {
  let accepted = 0;
  const server: Server = createServer((socket) => {
    accepted += 1;
    socket.on('error', () => undefined);
    socket.end(greeting);
  });
  await new Promise<void>((resolve) => server.listen(0, ip, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get accepted() {
      return accepted;
    },
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
