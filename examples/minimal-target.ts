/**
 * The smallest webhook target: it is called when a task is ready, works for a second, and ends the task through the
 * handle of the call. `node examples/minimal-target.ts`, for the batch in `examples/minimal.json`.
 */
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const PORT = 8090;

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', `http://127.0.0.1:${PORT}`);
  const handle = url.searchParams.get('handle');
  response.writeHead(handle === null ? 400 : 202).end();
  if (handle !== null) work(url.pathname, handle).catch((error: unknown) => console.error(error));
});

async function work(path: string, handle: string): Promise<void> {
  console.log(`${path}: begins`);
  await sleep(1000);
  const response = await fetch(handle, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ status: 'Success', metadata: { done_by: path } }),
  });
  console.log(`${path}: Heddle responded with ${response.status}`);
}

server.listen(PORT, '127.0.0.1', () => console.log(`waiting for tasks at http://127.0.0.1:${PORT}`));
