import type { Kind } from '@heddle/client';
import { getKind, getSchemas, listKinds } from '../api/operations.ts';
import { useLive } from './live.ts';

const EVERY_MS = 30_000;
const NONE: readonly Kind[] = [];

/** All kinds of tasks, with the schemas of their inputs. */
export function useKinds(): readonly Kind[] {
  return useLive(['kinds'], listKinds, { every: EVERY_MS }).data ?? NONE;
}

/** The schema of a kind's input; null if none of its workers has reported it. */
export function useInputSchema(kind: string): Kind['input_schema'] {
  const { data } = useLive(['kind', kind], (signal) => getKind(kind, signal), { every: EVERY_MS });
  return data?.input_schema ?? null;
}

/** The schemas of what can be submitted; they change with the server only. */
export function useSchemas() {
  return useLive(['schemas'], getSchemas, { every: false }).data;
}
