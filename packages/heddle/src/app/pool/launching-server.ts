import { dirname } from 'node:path';

import type { RunnerRecord } from '@heddle/core/pool/providers/process/records';
import { localServers } from '@heddle/core/pool/providers/process/servers';
import type { ServerAddress } from '../server-access.ts';

export interface LaunchingServerOptions {
  /** Directory of the runner, beside which servers of this machine write where they listen. */
  home: string;
  record: RunnerRecord;
  /** What the server gave to this runner. */
  credential: string;
  /** Public URL of the servers, for when none is left on this machine; null if none is configured. */
  publicUrl: string | null;
}

/**
 * The address of a server for a runner process: of the one that launched it, else of another one on this machine, else
 * the public one. A connection that fails leads to the next.
 */
export class LaunchingServer implements ServerAddress {
  readonly token: string;
  readonly #options: LaunchingServerOptions;
  #url: string | null = null;

  constructor(options: LaunchingServerOptions) {
    this.token = options.credential;
    this.#options = options;
  }

  readonly url = (): string => {
    this.#url ??= this.#urls()[0] ?? null;
    if (this.#url === null) throw new Error('no server is running on this machine, and HOST_URL is not set');
    return this.#url;
  };

  readonly fetch: typeof fetch = async (input, init) => {
    const tried = this.#url;
    try {
      return await fetch(input, init);
    } catch (error) {
      // Requests of one moment fail together, and lead on once.
      if (init?.signal?.aborted !== true && tried === this.#url) this.#url = this.#next();
      throw error;
    }
  };

  /** Whether there is any server to reach. */
  get isRunning(): boolean {
    return this.#urls().length > 0;
  }

  #next(): string | null {
    const urls = this.#urls();
    return urls[(urls.indexOf(this.#url ?? '') + 1) % urls.length] ?? null;
  }

  #urls(): string[] {
    const { home, record, publicUrl } = this.#options;
    const isLauncher = ({ pid, start }: { pid: number; start: string }): boolean =>
      pid === record.server?.pid && start === record.server.start;
    const servers = localServers(dirname(home)).sort(
      (one, other) => Number(isLauncher(other)) - Number(isLauncher(one)),
    );
    if (servers.length > 0) return servers.map(({ url }) => url);
    return publicUrl === null ? [] : [publicUrl];
  }
}
