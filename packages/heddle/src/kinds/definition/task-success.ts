import type { JsonValue } from '@heddle/base/json';

/** A success with more than a result: a possible return value of `run` in Heddle's own kinds. */
export class TaskSuccess {
  readonly result: JsonValue;
  /** Nodes after the task in its sequence, by name or id, that are disabled by its success. */
  readonly disable: readonly string[] | undefined;

  /** Of the command that it ran. */
  readonly exit_code: number | undefined;

  constructor(result: JsonValue, details: { disable?: readonly string[]; exit_code?: number } = {}) {
    this.result = result;
    this.disable = details.disable;
    this.exit_code = details.exit_code;
  }
}
