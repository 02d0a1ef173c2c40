import { createServer, type Socket } from 'node:net';

export interface ListenRequest {
  ip: string;
  /** The ports, or the number of random free ports. */
  ports: readonly number[] | number;
  /** How connections are handled. */
  says?: 'nothing' | 'greeting' | 'garbage' | 'endless' | 'goodbye' | 'reset' | 'trickle';
}

const GARBAGE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

const SPEECHES: Readonly<Record<NonNullable<ListenRequest['says']>, (socket: Socket) => unknown>> = {
  nothing: () => undefined,
  greeting: (socket) => socket.write('SSH-2.0-Heddle_1.0\r\n'),
  garbage: (socket) => socket.write(GARBAGE),
  endless(socket) {
    const block = Buffer.alloc(65_536, 'x');
    const more = (): void => {
      while (!socket.destroyed && socket.write(block));
    };
    socket.on('drain', more);
    more();
  },
  goodbye: (socket) => socket.end('bye\n'),
  reset: (socket) => socket.resetAndDestroy(),
  /** Never silent long enough to be done, never much data: only the deadline ends it. */
  trickle(socket) {
    const timer = setInterval(() => socket.write('.'), 50);
    socket.on('close', () => clearInterval(timer));
  },
};

if (import.meta.main) await listen(JSON.parse(process.argv[2]!) as ListenRequest);

/** Listens until it is killed, or its parent exits; prints the ports once all are open. */
async function listen({ ip, ports, says }: ListenRequest): Promise<void> {
  const wanted = typeof ports === 'number' ? Array.from({ length: ports }, () => 0) : ports;
  const opened: number[] = [];
  for (const port of wanted) {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      SPEECHES[says ?? 'nothing'](socket);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: ip, port, backlog: 4096 }, resolve);
    });
    const address = server.address();
    if (address !== null && typeof address === 'object') opened.push(address.port);
  }
  process.stdin.on('end', () => process.exit()).resume();
  console.log(JSON.stringify(opened));
}
