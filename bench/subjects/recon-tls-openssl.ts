import { measureCommand } from '../src/scan/command.ts';
import type { HandshakeRequest, HandshakeRun, Subject } from '../src/subject.ts';

/** It accepts whole seconds, and prints the number of handshakes. */
async function handshakes({ port, duration_ms }: HandshakeRequest): Promise<HandshakeRun> {
  let count = 0;
  const seconds = String(Math.ceil(duration_ms / 1000));
  const { wall_ms, cpu_ms } = await measureCommand(
    ['openssl', 's_time', '-connect', `127.0.0.1:${port}`, '-new', '-time', seconds],
    {
      codes: [0],
      onLine(line) {
        const told = /^(\d+) connections in \d+ real seconds/.exec(line)?.[1];
        if (told !== undefined) count = Number(told);
      },
    },
  );
  if (count === 0) throw new Error('openssl s_time counted no connections');
  return { count, wall_ms, cpu_ms };
}

export function createSubject(): Subject {
  return { prepare: () => Promise.resolve(), close: () => Promise.resolve(), handshakes };
}
