import type { ServerResponse } from 'node:http';

/** Writes server-sent events, and waits if the client reads too slowly. */
export class EventWriter {
  readonly #response: ServerResponse;
  readonly #signal: AbortSignal;

  constructor(response: ServerResponse, signal: AbortSignal) {
    this.#response = response;
    this.#signal = signal;
  }

  /** @param id sent by the client as `Last-Event-ID` to resume; null for a part that is no resume point */
  async event(name: string, data: unknown, id: number | null): Promise<void> {
    const idLine = id === null ? '' : `id: ${id}\n`;
    if (this.#write(`event: ${name}\n${idLine}data: ${JSON.stringify(data)}\n\n`)) return;
    await this.#drained();
  }

  comment(text: string): void {
    this.#write(`: ${text}\n\n`);
  }

  #write(text: string): boolean {
    if (this.#signal.aborted || this.#response.writableEnded) return true;
    return this.#response.write(text);
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#response.off('drain', done);
        this.#signal.removeEventListener('abort', done);
        resolve();
      };
      if (this.#signal.aborted) {
        resolve();
        return;
      }
      this.#response.once('drain', done);
      this.#signal.addEventListener('abort', done, { once: true });
    });
  }
}
