/** What a sealed value belongs to: it opens for this name and these grants only. */
export function contextOf(name: string, grants: readonly string[]): string {
  return JSON.stringify([name, ...grants]);
}
