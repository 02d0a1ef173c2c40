import type { LayoutInput, LayoutOutput } from './geometry.ts';

interface Waiting {
  resolve(output: LayoutOutput): void;
  reject(error: Error): void;
}

interface Answer {
  ticket: number;
  output?: LayoutOutput;
  error?: string;
}

const waiting = new Map<number, Waiting>();
let worker: Worker | null = null;
let tickets = 0;

function startWorker(): Worker {
  const started = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
  started.addEventListener('message', (event: MessageEvent<Answer>) => {
    const { ticket, output, error } = event.data;
    if (output !== undefined) waiting.get(ticket)?.resolve(output);
    else waiting.get(ticket)?.reject(new Error(`The layout failed: ${error ?? 'no reason given'}`));
    waiting.delete(ticket);
  });
  started.addEventListener('error', (event) => {
    for (const one of waiting.values()) one.reject(new Error(`The layout failed: ${event.message}`));
    waiting.clear();
    worker = null;
  });
  return started;
}

/** Starts the worker ahead of its first graph, so that its script loads in parallel with the data. */
export function prepareLayout(): void {
  worker ??= startWorker();
}

/** Computes positions in the worker; the page stays responsive meanwhile. */
export function computeLayout(input: LayoutInput): Promise<LayoutOutput> {
  worker ??= startWorker();
  tickets += 1;
  const ticket = tickets;
  const answer = new Promise<LayoutOutput>((resolve, reject) => waiting.set(ticket, { resolve, reject }));
  worker.postMessage({ ticket, input });
  return answer;
}
