/** Passed to the bootstrap if events have their own copy of this package, which then must not be overridden. */
export const PACKAGE_INSTALLED = 'package-is-there';

/** Where a jail or container has the package that events import. */
export const PACKAGE_DIRECTORY = '/node_modules/@heddle/kit';

/** The event that each process runs first, and the file next to the bootstrap that defines it. */
export const WARM_UP = { file: 'warm-up.mjs', event: 'warm-up' } as const;
