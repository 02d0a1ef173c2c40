import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './no-op.ts';
import { freePort } from './postgres.ts';

export interface RedisServer {
  port: number;
  version: string;
  stop(): Promise<void>;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

/** Runs a command and returns its standard output, or null if there is no such command. */
function output(command: string, args: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    child.stdout.on('data', (data: Buffer) => (text += data.toString()));
    child.on('error', () => resolve(null));
    child.on('close', () => resolve(text));
  });
}

/** Starts a Redis as durable as BullMQ's documentation advises; returns null if redis-server is not installed. */
export async function startRedis(): Promise<RedisServer | null> {
  const version = await output('redis-server', ['--version']);
  if (version === null) return null;
  const directory = await mkdtemp(join(tmpdir(), 'heddle-bench-redis-'));
  const port = await freePort();
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: directory,
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const redis = spawn('redis-server', args, { stdio: 'ignore' });
  const exited = new Promise<void>((resolve) => redis.on('exit', () => resolve()));
  await until(() => accepts(port), 'redis-server to start');
  return {
    port,
    version: /v=([\d.]+)/.exec(version)?.[1] ?? 'unknown',
    async stop() {
      redis.kill('SIGTERM');
      await exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
