import type { NewTask } from '@heddle/base/vocabulary/task';
import type { NewContainerNode } from '@heddle/base/vocabulary/workflow';
import type { WorkflowNotification } from '../domain/notification/notification.ts';

/** What was submitted as a run. */
export type RunDefinition = {
  name: string | null;
  /** What a definition cannot hold. */
  left_out: {
    /** Tasks that generators created, and will create again. */
    generated_tasks: number;
    /** Dependencies on tasks of other batches, which stood in for duplicates. */
    dependencies: number;
  };
} & (
  | { type: 'batch'; tasks: readonly NewTask[] }
  | { type: 'workflow'; root: NewContainerNode; notify: readonly WorkflowNotification[] }
);
