import type { WorkerMessage } from './pools.ts';

// A forked worker: handles one message after the other until its parent exits.

const EVENTS: Readonly<Record<string, (args: unknown) => unknown>> = { NoOp: () => null };

async function runEvent(request: string): Promise<string> {
  const { event_name, args } = JSON.parse(request) as { event_name: string; args: unknown };
  return JSON.stringify({ status: 'success', result: await EVENTS[event_name]!(args) });
}

let last = Promise.resolve();
process.on('message', ({ id, json }: WorkerMessage) => {
  last = last.then(async () => void process.send!({ id, json: await runEvent(json) } satisfies WorkerMessage));
});
process.on('disconnect', () => process.exit(0));
