const MIB = 1024 * 1024;

/** Limits of one pull. */
export interface CodeLimits {
  /** Size of the packed archive, bytes. */
  readonly archive_bytes_max: number;
  /** Maximum number of files, and separately of other archive entries. */
  readonly files_max: number;
  readonly file_bytes_max: number;
  /** Total size of all files, bytes. */
  readonly bytes_max: number;
  /** Maximum unpacked-to-packed ratio, applied beyond `RATIO_FREE_BYTES`. */
  readonly ratio_max: number;
  /** Time limit of a pull, seconds. */
  readonly pull_secs: number;
  /** Time limit without receiving any bytes, seconds. */
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

/** Exempts small archives of repetitive text from the ratio limit. */
export const RATIO_FREE_BYTES = 4 * MIB;
