import type { NoticeAction } from '@heddle/core/domain/notification/notification';

/**
 * A result with a notification that is sent in the transaction of the task's success. For Heddle's own kinds, in
 * processes with database access.
 */
export class ResultWithNotification {
  readonly result: unknown;
  readonly actions: readonly NoticeAction[];
  /** Only the first such task of a workflow sends; the member `sent` of the others' results becomes false. */
  readonly oncePerWorkflow: boolean;

  constructor(result: unknown, actions: readonly NoticeAction[], options: { oncePerWorkflow?: boolean } = {}) {
    this.result = result;
    this.actions = actions;
    this.oncePerWorkflow = options.oncePerWorkflow ?? false;
  }
}
