import type { JsonObject } from '../json.ts';

/** How a process describes a kind that it runs. */
export interface KindDescription {
  name: string;
  description: string | null;
  /** JSON Schema of its input; null if it is not known. */
  input_schema: JsonObject | null;
}
