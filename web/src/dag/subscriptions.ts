import { useSyncExternalStore } from 'react';
import type { TaskStore } from './task-store.ts';

/** Renders again on every change of the store; returns its version, for dependency lists. */
export function useStoreVersion(store: TaskStore): number {
  return useSyncExternalStore(store.subscribe, () => store.version);
}
