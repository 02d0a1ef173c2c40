import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface RunningServer {
  port: number;
  stop(): void;
}

/** `openssl s_server` on loopback with its own P-256 certificate: TLS 1.3, one connection at a time. */
export async function startTlsServer(): Promise<RunningServer> {
  const directory = mkdtempSync(join(tmpdir(), 'heddle-bench-tls-'));
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const files = ['-keyout', key, '-out', certificate, '-days', '30', '-subj', '/CN=www.example.test'];
  const made = spawnSync('openssl', ['req', '-x509', ...curve, ...files], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`openssl req: ${made.error?.message ?? made.stderr}`);
  const port = await freePort();
  const child = spawn(
    'openssl',
    ['s_server', '-accept', `127.0.0.1:${port}`, '-key', key, '-cert', certificate, '-www'],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  let output = '';
  for await (const text of child.stdout) {
    output += String(text);
    if (output.includes('ACCEPT')) break;
  }
  if (!output.includes('ACCEPT')) throw new Error('openssl s_server did not start');
  child.stdout.resume();
  const stop = (): void => void child.kill('SIGKILL');
  process.once('exit', stop);
  return { port, stop };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
