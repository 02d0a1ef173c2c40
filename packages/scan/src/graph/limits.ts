/** Objects that one Enumerate step requests from its source. */
export const ENUM_BATCH_SIZE = 32;

/** Bytes of one buffer, overlap included. */
export const BUFFER_LEN_MAX = 4 * 1024 * 1024;
