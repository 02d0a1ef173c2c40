/** Log of an event, written to the executor's log with a size limit per line; `fields` are for filtering. */
export interface EventLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Progress of a run. */
export interface EventProgress {
  /** 0 to 1. */
  readonly fraction?: number;
  readonly message?: string;
}

/** Context passed to `run` with its arguments. */
export interface EventContext {
  /** Identifies this task in logs, responses and traces. */
  readonly correlation_id: string;
  /** W3C trace context of the caller; null if none was sent. */
  readonly traceparent: string | null;
  /** Aborts when the task is canceled or times out; the process is killed shortly afterwards in any case. */
  readonly signal: AbortSignal;
  readonly log: EventLog;
  /** Reports progress to the caller; a number is the fraction. Need not be awaited; frequent reports are throttled. */
  readonly progress: (progress: number | EventProgress) => void;
}
