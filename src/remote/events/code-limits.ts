const MIB = 1024 * 1024;

/** Bounds of what one pull may bring. */
export interface CodeLimits {
  /** Bytes of a package as it is sent. */
  readonly archive_bytes_max: number;
  /** Files, and entries of other kinds in an archive beside them, each at most this many. */
  readonly files_max: number;
  readonly file_bytes_max: number;
  /** Bytes of all files together. */
  readonly bytes_max: number;
  /** Unpacked bytes for each packed one, once `RATIO_FREE_BYTES` are out. */
  readonly ratio_max: number;
  /** From start to end of a pull. */
  readonly pull_secs: number;
  /** Without a single byte. */
  readonly stall_secs: number;
}

export const CODE_LIMITS: CodeLimits = {
  archive_bytes_max: 64 * MIB,
  files_max: 10_000,
  file_bytes_max: 64 * MIB,
  bytes_max: 256 * MIB,
  ratio_max: 100,
  pull_secs: 120,
  stall_secs: 15,
};

/** Small archives of repetitive texts are no bombs. */
export const RATIO_FREE_BYTES = 4 * MIB;
