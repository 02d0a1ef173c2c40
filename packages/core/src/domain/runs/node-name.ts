/** Characters of a stem; longer names that begin alike are alike. */
const STEM_MAX = 200;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
const NUMBER = /\d+/g;

/** Returns a name without what distinguishes the members of a series: `scan 3 of 8` and `scan 4 of 8` have one stem. */
export function nameStem(name: string): string {
  return name.slice(0, STEM_MAX).replace(UUID, '#').replace(NUMBER, '#');
}
