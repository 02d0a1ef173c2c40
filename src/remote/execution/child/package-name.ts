/** Given to the bootstrap where events find this package beside them: nothing must answer for it then. */
export const PACKAGE_IS_THERE = 'package-is-there';
