import { join } from 'node:path';
import { seededRandom, type Random } from '@heddle/base/random';
import { startChild, type Child } from '@heddle/test-support/reliability/processes';

/** Servers of one database; some of them may be dead at any moment. */
export class ServerFleet {
  readonly #environment: Record<string, string>;
  readonly #members: (Member | undefined)[] = [];
  readonly #random: Random;
  kills = 0;

  constructor(databaseUrl: string, seed: number, environment: Record<string, string> = {}) {
    this.#random = seededRandom(seed);
    this.#environment = {
      DATABASE_URL: databaseUrl,
      HOST: '127.0.0.1',
      PORT: '0',
      RUST_LOG: 'error',
      SKIP_SSRF_VALIDATION: '1',
      WORKER_LOOP_INTERVAL_MS: '100',
      HEDDLE_WEBHOOK_TIMEOUT_SECS: '5',
      ...environment,
    };
  }

  /** Base URLs of the servers that live, as far as is known. */
  get urls(): string[] {
    return this.#members.flatMap((member) => member?.url ?? []);
  }

  get pids(): number[] {
    return this.#members.flatMap((member) => member?.child.process.pid ?? []);
  }

  /** One of the servers that live; undefined while all are dead. */
  anyUrl(): string | undefined {
    const { urls } = this;
    return urls[Math.floor(this.#random.next() * urls.length)];
  }

  /** Starts the server at a place of the fleet and resolves when it answers. */
  async start(place: number): Promise<void> {
    const child = startChild(join(import.meta.dirname, 'server-process.ts'), [], this.#environment);
    const { url } = await child.told('ready');
    this.#members[place] = { child, url: url as string };
  }

  /** Kills the server at a place with SIGKILL. */
  async kill(place: number): Promise<void> {
    const member = this.#members[place];
    if (member === undefined) return;
    this.#members[place] = undefined;
    this.kills += 1;
    await member.child.kill();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#members.map((_, place) => this.kill(place)));
  }
}

interface Member {
  child: Child;
  url: string;
}
