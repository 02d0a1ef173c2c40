/** Given to the bootstrap where events find this package beside them: nothing must answer for it then. */
export const PACKAGE_IS_THERE = 'package-is-there';

/** The event that is run first in each process, and the file beside the bootstrap that defines it. */
export const WARM_UP = { file: 'warm-up.mjs', event: 'warm-up' } as const;
