import { elapsedMs } from './no-op.ts';
import type { TransportShape } from './subject.ts';

/** About the size of a CompleteTask message. */
export const MESSAGE = JSON.stringify({
  type: 'CompleteTask',
  task_id: '01a1f8d7-8f85-7000-b896-341141972e1d',
  root_container_id: '01a1f8d7-8f82-7000-bb24-1331ab0e8ab5',
  state: 'Succeeded',
  attempt: 1,
  data: { host: '10.0.0.7', open_ports: [22, 80, 443], took_ms: 131 },
});

const WORKERS = 4;

/** Four concurrent senders and receivers, until everything is received and settled; returns milliseconds. */
export function carry(
  { messages, batch }: TransportShape,
  send: (count: number) => Promise<unknown>,
  receiveAndSettle: () => Promise<number>,
): Promise<number> {
  let unsent = messages;
  let unsettled = messages;
  const sender = async (): Promise<void> => {
    while (unsent > 0) {
      const count = Math.min(batch, unsent);
      unsent -= count;
      await send(count);
    }
  };
  const receiver = async (): Promise<void> => {
    while (unsettled > 0) {
      const settled = await receiveAndSettle();
      unsettled -= settled;
    }
  };

  return elapsedMs(async () => {
    const workers = Array.from({ length: WORKERS }, () => [sender(), receiver()]);
    await Promise.all(workers.flat());
  });
}
