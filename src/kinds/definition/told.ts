import type { NoticeAction } from '../../domain/notification/notification.ts';

/**
 * What a handler returns that tells somebody something: its result, and what is sent off in the transaction of its
 * success, and only then. For Heddle's own kinds, in processes that reach the database.
 */
export class Told {
  readonly result: unknown;
  readonly actions: readonly NoticeAction[];
  /** Only the first task of a workflow that does so tells; the member `sent` of the others' results becomes false. */
  readonly oncePerWorkflow: boolean;

  constructor(result: unknown, actions: readonly NoticeAction[], options: { oncePerWorkflow?: boolean } = {}) {
    this.result = result;
    this.actions = actions;
    this.oncePerWorkflow = options.oncePerWorkflow ?? false;
  }
}
