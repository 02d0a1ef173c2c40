import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { systemRandom, type Random } from '@heddle/base/random';
import type { Database } from '../store/database.ts';
import { DEFAULT_MAX_RECEIVES } from './limits.ts';
import { OutgoingRelay } from './outgoing.ts';
import type { MessageQueue } from './port.ts';
import { PostgresQueue } from './postgres.ts';
import { parseSqsAddress, type SqsAddress } from './sqs-address.ts';
import { SqsConnection, type SqsSdk } from './sqs-connection.ts';
import { SqsQueue } from './sqs.ts';
import { QueueUpkeep } from './upkeep.ts';

export interface OpenQueueOptions {
  /** `postgres`, or `sqs://REGION/ACCOUNT/PREFIX?endpoint=…&fifo=1&create=1`. */
  url: string;
  /** Null only with SQS: then sending within transactions, and messages that SQS cannot carry, are not supported. */
  database: Database | null;
  clock: Clock;
  log: Logger;
  random?: Random;
  /** Deliveries of a message before it is dead-lettered; 10 by default. */
  maxReceives?: number;
  /** Time that statements use; null, the default: the database's clock. */
  now?: () => string | null;
}

/** Background service of a queue. */
export interface QueueService {
  start(): void;
  stop(): Promise<void>;
}

export interface OpenedQueue {
  queue: MessageQueue;
  /** Sends messages that transactions wrote to the outbox; null if messages are part of the transaction itself. */
  relay: OutgoingRelay | null;
  /** Services that every server starts, and stops before it closes the queue, the relay included. */
  services: readonly QueueService[];
}

/**
 * Opens the queues at `url`. The AWS SDK is loaded only for SQS.
 *
 * @throws Error if the URL is invalid, or naming a missing package
 */
export async function openQueue(options: OpenQueueOptions): Promise<OpenedQueue> {
  const { url, database, clock, log, random = systemRandom, maxReceives = DEFAULT_MAX_RECEIVES } = options;
  const now = options.now ?? (() => null);
  if (url === 'postgres') {
    if (database === null) throw new Error('Queues in PostgreSQL need a database');
    const queue = new PostgresQueue({ database, clock, log, maxReceives, now });
    return { queue, relay: null, services: [new QueueUpkeep({ database, clock, log, random })] };
  }
  const queue = await openSqsQueue(parseQueueUrl(url), { database, clock, log, random, maxReceives });
  if (database === null) return { queue, relay: null, services: [] };
  const relay = new OutgoingRelay({ database, queue, clock, log, random, now });
  return { queue, relay, services: [relay, new QueueUpkeep({ database, clock, log, random })] };
}

/** Validates the setting `QUEUE_URL`; null for queues in PostgreSQL. Throws an Error that describes the fault. */
export function checkQueueUrl(url: string): SqsAddress | null {
  return url === 'postgres' ? null : parseQueueUrl(url);
}

export interface OpenSqsOptions {
  database: Database | null;
  clock: Clock;
  log: Logger;
  random: Random;
  maxReceives: number;
}

export async function openSqsQueue(address: SqsAddress, options: OpenSqsOptions): Promise<SqsQueue> {
  const sdk = await loadSdk();
  const { database, clock, log, random, maxReceives } = options;
  const { region, endpoint } = address;
  const client = new sdk.SQSClient({ region, ...(endpoint === null ? {} : { endpoint }) });
  const connection = new SqsConnection({ sdk, client, address, maxReceives, clock, random });
  return new SqsQueue({ connection, database, maxReceives, clock, log });
}

function parseQueueUrl(url: string): SqsAddress {
  try {
    return parseSqsAddress(url);
  } catch (error) {
    throw new Error(`QUEUE_URL ${(error as Error).message}; or it is "postgres"`, { cause: error });
  }
}

async function loadSdk(): Promise<SqsSdk> {
  try {
    return await import('@aws-sdk/client-sqs');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error('QUEUE_URL names SQS, which needs a package: npm install @aws-sdk/client-sqs', { cause: error });
  }
}
