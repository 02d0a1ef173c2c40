/** Objects that one Enumerate step requests from its source. */
export const ENUM_BATCH_SIZE = 32;

/** Maximum FetchSync steps that one Enumerate step starts. */
export const MAX_FETCH_SPAWNS_PER_ENUM = ENUM_BATCH_SIZE;

/** Bytes of one buffer, overlap included. */
export const BUFFER_LEN_MAX = 4 * 1024 * 1024;
