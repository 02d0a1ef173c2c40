import type { JsonValue } from '../../domain/json.ts';

/** A success that is more than a result: what `run` of Heddle's own kinds may return. */
export class Ending {
  readonly result: JsonValue;
  /** Nodes after the task in its sequence, by their names or ids, that are disabled with its success. */
  readonly disable: readonly string[] | undefined;

  constructor(result: JsonValue, details: { disable?: readonly string[] } = {}) {
    this.result = result;
    this.disable = details.disable;
  }
}
