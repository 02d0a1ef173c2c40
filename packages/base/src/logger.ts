/** `fields` are for machines to filter by; `message` is one constant phrase for people. */
export interface Logger {
  /** False: lines for debugging are not written, and need not be prepared. */
  readonly writesDebug?: boolean;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Returns a logger that adds `fields` to each of its lines. */
  child(fields: object): Logger;
}

export const silentLogger: Logger = {
  writesDebug: false,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
};
