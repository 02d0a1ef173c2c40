import { StringDecoder } from 'node:string_decoder';

/** Longer lines are passed on in parts. */
const LINE_CHARS = 8_192;
/** A secret of this length at the end of a part is still found whole. */
const HELD_BACK_CHARS = 8_192;
const PROGRESS = /^::progress (\d{1,15})(?:\/\d{1,15})?::$/;

export interface OutputLinesOptions {
  /** Replaces secrets, before lines are cut. */
  redact: (text: string) => string;
  onLine: (line: string) => void;
  /** Receives `40` of a line `::progress 40/100::`, which is not passed on. */
  onProgress?: (done: number) => void;
}

/** Splits the output of a command into lines. */
export class OutputLines {
  readonly #decoder = new StringDecoder('utf8');
  readonly #options: OutputLinesOptions;
  #rest = '';

  constructor(options: OutputLinesOptions) {
    this.#options = options;
  }

  push(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop()!;
    for (const line of lines) this.#pass(this.#options.redact(line));
    if (this.#rest.length < LINE_CHARS + HELD_BACK_CHARS) return;
    this.#rest = this.#options.redact(this.#rest);
    while (this.#rest.length >= LINE_CHARS + HELD_BACK_CHARS) {
      this.#pass(this.#rest.slice(0, LINE_CHARS));
      this.#rest = this.#rest.slice(LINE_CHARS);
    }
  }

  end(): void {
    const last = this.#rest + this.#decoder.end();
    this.#rest = '';
    if (last !== '') this.#pass(this.#options.redact(last));
  }

  #pass(line: string): void {
    const { onLine, onProgress } = this.#options;
    const done = onProgress === undefined ? null : PROGRESS.exec(line.trimEnd());
    if (done === null) onLine(line);
    else onProgress!(Number(done[1]));
  }
}
