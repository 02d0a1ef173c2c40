import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createSocket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { eventually, scan } from './scanning.ts';

export const ZONE = 'example.test';

export interface AuthoritativeServer {
  readonly software: string;
  /** `ip:port`. */
  readonly address: string;
  close(): Promise<void>;
}

/**
 * Zone of `host0` to `host<count - 1>`, each with one address derived from its number, and names of every other type.
 */
function zoneText(count: number): string {
  const lines = [
    `$ORIGIN ${ZONE}.`,
    '$TTL 300',
    '@ SOA ns hostmaster 2024010101 7200 3600 1209600 300',
    '@ NS ns',
    'ns A 127.0.0.1',
    'ns AAAA ::1',
    'alias CNAME host1',
    'mail MX 10 host2',
    'text TXT "one" "two"',
    '_sip._tcp SRV 1 2 5060 host3',
    'caa CAA 0 issue "ca.test"',
    'pointer PTR host4',
    '*.wild A 192.0.2.9',
    'own.wild A 192.0.2.1',
  ];
  for (let at = 0; at < 200; at++) lines.push(`large TXT "${String(at).padStart(100, 'x')}"`);
  for (let at = 0; at < count; at++) lines.push(`host${at} A 10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`);
  return `${lines.join('\n')}\n`;
}

/** Starts knot or nsd on a free loopback port with a zone of `count` names; null if neither is installed. */
export async function startAuthoritativeServer(count: number): Promise<AuthoritativeServer | null> {
  const software = ['knotd', 'nsd'].find((name) => !('error' in spawnSync(name, ['-V'])));
  if (software === undefined) return null;
  const directory = mkdtempSync(join(tmpdir(), 'heddle-name-server-'));
  writeFileSync(join(directory, 'zone'), zoneText(count));
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const child = software === 'knotd' ? startKnot(directory, port) : startNsd(directory, port);
  let output = '';
  child.stderr!.on('data', (bytes: Buffer) => (output += bytes.toString()));
  const close = async (): Promise<void> => {
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
    child.kill('SIGTERM');
    await ended;
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`${software} ended: ${output}`);
      const changes = { names: [`host${count - 1}.${ZONE}`], resolvers: [address], retries: 0, timeoutMs: 200 };
      return (await scan(changes)).records[0]?.a !== undefined;
    }, `${software} answers`);
  } catch (error) {
    await close();
    throw error;
  }
  return { software, address, close };
}

function startKnot(directory: string, port: number): ChildProcess {
  const configuration = join(directory, 'knot.conf');
  writeFileSync(
    configuration,
    `server:
    rundir: ${directory}
    listen: 127.0.0.1@${port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: ${directory}
log:
  - target: stderr
    any: error
zone:
  - domain: ${ZONE}
    storage: ${directory}
    file: zone
    journal-content: none
    zonefile-sync: -1
`,
  );
  return spawn('knotd', ['-c', configuration], { stdio: ['ignore', 'ignore', 'pipe'] });
}

function startNsd(directory: string, port: number): ChildProcess {
  const configuration = join(directory, 'nsd.conf');
  writeFileSync(
    configuration,
    `server:
  ip-address: 127.0.0.1@${port}
  server-count: 1
  username: ""
  zonesdir: "${directory}"
  zonelistfile: "${directory}/zone.list"
  xfrdfile: "${directory}/xfrd.state"
  xfrdir: "${directory}"
  pidfile: ""
  database: ""
remote-control:
  control-enable: no
zone:
  name: ${ZONE}
  zonefile: zone
`,
  );
  return spawn('nsd', ['-d', '-c', configuration], { stdio: ['ignore', 'ignore', 'pipe'] });
}

async function freePort(): Promise<number> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  return port;
}
