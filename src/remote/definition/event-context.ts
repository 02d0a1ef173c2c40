/** Lines of the event go to the executor's log, each bounded; `fields` are what machines filter by. */
export interface EventLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What a run says of how far it is. */
export interface EventProgress {
  /** 0 to 1. */
  readonly fraction?: number;
  readonly message?: string;
}

/** What `run` has beside its arguments. */
export interface EventContext {
  /** Of this task, the same in logs, answers and traces. */
  readonly correlation_id: string;
  /** W3C trace context of the caller; null where it sent none. */
  readonly traceparent: string | null;
  /** Aborts when the task is canceled or its time is over; the process ends a moment later, whatever it does. */
  readonly signal: AbortSignal;
  readonly log: EventLog;
  /** Tells the caller; a number is the fraction. Need not be awaited, and a flood of them is thinned. */
  readonly progress: (progress: number | EventProgress) => void;
}
