/** The signal of a run, created only for handlers that ask for it. */
export class RunSignal {
  #controller: AbortController | undefined;
  #reason: string | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(new Error(this.#reason));
    }
    return this.#controller.signal;
  }

  /** Whether the handler listens to its signal. */
  get listens(): boolean {
    return this.#controller !== undefined && !this.#controller.signal.aborted;
  }

  /** The first reason counts. */
  abort(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(new Error(reason));
  }
}
