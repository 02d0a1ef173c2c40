import type { ClientContext } from '../output/client-command.ts';
import { CLIENT_EXIT, type ClientExit } from '../output/exit-codes.ts';
import { watchBatch } from '../output/progress.ts';

/** Follows a batch until it has completed or Ctrl-C is pressed. */
export async function follow({ client, output, io }: ClientContext, id: string): Promise<ClientExit> {
  const stop = new AbortController();
  const unsubscribe = io.onInterrupt(() => stop.abort());
  try {
    const { ended, succeeded } = await watchBatch(client, id, { output, signal: stop.signal });
    if (!ended) return stop.signal.aborted ? CLIENT_EXIT.interrupted : CLIENT_EXIT.unavailable;
    return succeeded ? CLIENT_EXIT.ok : CLIENT_EXIT.failed;
  } finally {
    unsubscribe();
  }
}
