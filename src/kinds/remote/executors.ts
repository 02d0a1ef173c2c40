import type { RemoteExecutor } from '../../remote/client/remote-executor.ts';

/** The executors that tasks may name. */
export interface Executors {
  /** The first one where no name is given; null where there is none of that name. */
  find(name: string | null): Pick<RemoteExecutor, 'submit' | 'cancel'> | null;
  readonly names: readonly string[];
}
