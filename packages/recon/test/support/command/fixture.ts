/** Targets of the tests of `heddle-recon`: listeners and a name server on loopback. */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { Compile } from 'typebox/schema';

import type { Ended } from '@heddle/test-support/cli/command-process';
import { ReconRecordSchema } from '@heddle/test-support/recon/record-schema';
import { reply, startNameServer, type NameServer } from '@heddle/test-support/name-server';
import { listening, ReconDirectory, type Listening } from './process.ts';

const record = Compile(JSON.parse(JSON.stringify(ReconRecordSchema)) as typeof ReconRecordSchema);

const ZONE: Readonly<Record<string, readonly string[]>> = {
  'example.test': ['127.0.0.1'],
  'www.example.test': ['127.0.0.1'],
  'many.example.test': ['127.0.0.2', '169.254.169.254', '127.0.0.1'],
  'trap.example.test': ['169.254.169.254'],
  'far.example.test': ['8.8.8.8'],
};

export interface ReconSurroundings {
  readonly directory: ReconDirectory;
  /** A listener that sends nothing. */
  readonly web: Listening;
  /** Sends something that a terminal would interpret. */
  readonly greeter: Listening;
  readonly names: NameServer;
  recon(...args: string[]): Promise<Ended>;
  /** By full connections. */
  tcp(...args: string[]): Promise<Ended>;
}

/** Listens for as long as the tests of a file run; to be used within them only. */
export function reconSurroundings(): ReconSurroundings {
  const directory = new ReconDirectory();
  const recon = (...args: string[]): Promise<Ended> => directory.recon(args);
  const tcp = (...args: string[]): Promise<Ended> => recon('tcp', '--method', 'connect', ...args);
  const surroundings = { directory, recon, tcp } as {
    -readonly [Member in keyof ReconSurroundings]: ReconSurroundings[Member];
  };
  before(async () => {
    [surroundings.web, surroundings.greeter, surroundings.names] = await Promise.all([
      listening(),
      listening('220 ready\u001b[2J\r\n'),
      nameServer(),
    ]);
  });
  after(async () => {
    const { web, greeter, names } = surroundings;
    await Promise.all([web[Symbol.asyncDispose](), greeter[Symbol.asyncDispose](), names.close()]);
    directory.remove();
  });
  return surroundings;
}

/** Answers for example.test, for everything below wild.test, and for every address. */
function nameServer(): Promise<NameServer> {
  return startNameServer((query) => {
    const { name } = query;
    const inWild = name.endsWith('.wild.test');
    const data = ZONE[name] ?? (inWild ? ['127.0.0.9'] : undefined);
    if (query.type === 'A' && data !== undefined) {
      return [reply(query, { answers: data.map((each) => ({ type: 'A', name, ttl: 60, data: each })) })];
    }
    if (query.type === 'PTR') {
      return [reply(query, { answers: [{ type: 'PTR', name, ttl: 60, data: 'www.example.test' }] })];
    }
    return [reply(query, { rcode: data === undefined ? 'NXDOMAIN' : 'NOERROR' })];
  });
}

/** Records of standard output: every line must be one. */
export function recordsOf({ lines }: Ended): Record<string, unknown>[] {
  return lines.map((line) => {
    const read = JSON.parse(line) as Record<string, unknown>;
    assert.ok(record.Check(read), line);
    return read;
  });
}
