import type { RemoteExecutor } from '@heddle/executor/client/remote-executor';

/** The executors that tasks may name. */
export interface Executors {
  /** Returns the named executor, or the first one without a name; null if there is none of that name. */
  find(name: string | null): Pick<RemoteExecutor, 'submit' | 'cancel'> | null;
  readonly names: readonly string[];
}
