import { spawn } from 'node:child_process';
import { createServer, Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

export interface OpenPorts {
  ports: number[];
  stop(): void;
}

/** A process that listens on the given number of ports of 127.0.0.1, wherever they are free. */
export async function openPorts(count: number): Promise<OpenPorts> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), String(count)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  for await (const text of child.stdout) {
    output += String(text);
    if (output.includes('\n')) break;
  }
  const stop = (): void => void child.kill('SIGKILL');
  process.once('exit', stop);
  // It ends with the benchmark, and does not keep it running.
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  return { ports: JSON.parse(output) as number[], stop };
}

async function listen(count: number): Promise<void> {
  const ports: number[] = [];
  while (ports.length < count) {
    const server = createServer((socket) => socket.on('error', () => undefined));
    await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, resolve));
    const address = server.address();
    if (address !== null && typeof address === 'object') ports.push(address.port);
  }
  process.stdin.on('end', () => process.exit()).resume();
  process.stdout.write(`${JSON.stringify(ports)}\n`);
}

if (import.meta.main) await listen(Number(process.argv[2]));
