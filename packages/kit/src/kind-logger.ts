interface LogMethod {
  (message: string): void;
  (fields: object, message: string): void;
}

/** Writes structured lines: `log.info('resizing')` or `log.info({ path }, 'resizing')`. */
export interface KindLogger {
  debug: LogMethod;
  info: LogMethod;
  warn: LogMethod;
  error: LogMethod;
  /** Returns a logger that adds `fields` to each of its lines. */
  child(fields: object): KindLogger;
}
