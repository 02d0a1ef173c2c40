import { spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { Resolver } from 'node:dns/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const DNS_ZONE = 'example.test';
export const DNS_NAMES = 100_000;

const START_TRIES = 100;
const START_TRY_MS = 100;

export interface RunningNameServer {
  port: number;
  /** One `name type` per line, as read by dnsperf. */
  queries: string;
  stop(): void;
}

export function nameOf(index: number): string {
  return `host${index % DNS_NAMES}.${DNS_ZONE}`;
}

/** knot on loopback, with one thread for UDP and a zone of 100,000 names. */
export async function startNameServer(): Promise<RunningNameServer> {
  if (spawnSync('knotd', ['-V'], { stdio: 'ignore' }).error !== undefined) {
    throw new Error('knotd is not installed (apt-get install knot)');
  }
  const directory = mkdtempSync(join(tmpdir(), 'heddle-bench-dns-'));
  const queries = join(directory, 'queries');
  const numbers = Array.from({ length: DNS_NAMES }, (_, index) => index);
  const records = numbers.map((at) => `host${at} A 10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`);
  const head = [
    `$ORIGIN ${DNS_ZONE}.`,
    '$TTL 300',
    '@ SOA ns admin 1 7200 3600 1209600 300',
    '@ NS ns',
    'ns A 127.0.0.1',
  ];
  writeFileSync(join(directory, 'zone'), `${[...head, ...records].join('\n')}\n`);
  writeFileSync(queries, `${numbers.map((at) => `${nameOf(at)} A`).join('\n')}\n`);
  const port = await freePort();
  const configuration = join(directory, 'knot.conf');
  mkdirSync(join(directory, 'run'));
  writeFileSync(
    configuration,
    `server:
    rundir: ${join(directory, 'run')}
    listen: 127.0.0.1@${port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: ${directory}
zone:
  - domain: ${DNS_ZONE}
    storage: ${directory}
    file: zone
    journal-content: none
    zonefile-sync: -1
`,
  );
  const child = spawn('knotd', ['-c', configuration], { stdio: 'ignore' });
  const stop = (): void => void child.kill('SIGKILL');
  process.once('exit', stop);
  child.unref();
  await answering(port);
  return { port, queries, stop };
}

async function answering(port: number): Promise<void> {
  const resolver = new Resolver({ timeout: START_TRY_MS, tries: 1 });
  resolver.setServers([`127.0.0.1:${port}`]);
  for (let count = 0; count < START_TRIES; count++) {
    try {
      await resolver.resolve4(nameOf(DNS_NAMES - 1));
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, START_TRY_MS));
    }
  }
  throw new Error('knotd does not answer');
}

async function freePort(): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  return port;
}
