import { onNextTurn } from '@heddle/base/turn';

const FLUSH_CHARACTERS = 65_536;

/** Collects the output of one tick of the event loop, and waits if the reader is slow. */
export class RecordWriter {
  readonly #print: (text: string) => Promise<void> | undefined;
  #text = '';
  #isDue = false;
  #full: Promise<void> | undefined;

  constructor(print: (text: string) => Promise<void> | undefined) {
    this.#print = print;
  }

  /** Returns a promise to wait for before writing more if standard output is full. */
  write(text: string): Promise<void> | undefined {
    this.#text += text;
    if (this.#text.length >= FLUSH_CHARACTERS) this.flush();
    else if (!this.#isDue) {
      this.#isDue = true;
      onNextTurn(() => {
        this.#isDue = false;
        this.flush();
      });
    }
    return this.#full;
  }

  flush(): void {
    if (this.#text === '') return;
    const text = this.#text;
    this.#text = '';
    const full = this.#print(text);
    this.#full = full?.finally(() => (this.#full = undefined));
  }
}
