import type { JsonValue } from '@heddle/base/json';
import { messageOf } from '@heddle/base/thrown';
import type { Outcome } from '@heddle/base/vocabulary/task-state';
import type { TaskNotices } from '@heddle/core/engine/port';

/** Maximum result of a task, bytes of JSON. */
export const RESULT_BYTES_MAX = 1024 * 1024;

/** How one attempt of a task ended. An executor that returns one sets more than success: outcome, reason, counts. */
export class Completion {
  readonly outcome: Outcome;
  readonly result: JsonValue | undefined;
  readonly reason: string | undefined;
  /** For a generator that succeeded: number of nodes that it created. */
  readonly expected_created: number | undefined;
  /** For a success: later nodes of its sequence to disable. */
  readonly disable: readonly string[] | undefined;
  /** For a failure: no further attempt can succeed. */
  readonly final: boolean;
  /** Of a command that it ran. */
  readonly exit_code: number | undefined;
  /** For a success: notifications to send with it. */
  readonly notices: TaskNotices | undefined;

  constructor(
    outcome: Outcome,
    details: {
      result?: JsonValue | undefined;
      reason?: string;
      expected_created?: number | undefined;
      disable?: readonly string[] | undefined;
      final?: boolean;
      exit_code?: number | undefined;
      notices?: TaskNotices | undefined;
    } = {},
  ) {
    this.outcome = outcome;
    this.result = details.result;
    this.reason = details.reason;
    this.expected_created = details.expected_created;
    this.disable = details.disable;
    this.final = details.final ?? false;
    this.exit_code = details.exit_code;
    this.notices = details.notices;
  }
}

const REASON_CHARACTERS_MAX = 1000;

/** Returns the string without what a database cannot store. */
export function storable(text: string): string {
  const cut = text.length > REASON_CHARACTERS_MAX ? `${text.slice(0, REASON_CHARACTERS_MAX - 1)}…` : text;
  return cut.replaceAll('\u0000', '\ufffd').toWellFormed();
}

/** Returns the failure reason of a task for an error. */
export function reasonOf(error: unknown): string {
  const message = messageOf(error);
  return storable(message === '' ? 'the executor failed without a message' : message);
}
