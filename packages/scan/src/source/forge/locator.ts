/** Where the content of an object is: in a clone, or here. */
export type ForgeLocator = { clone: string; id: string } | { text: string };

export function writeLocator(locator: ForgeLocator): string {
  return JSON.stringify(locator);
}

export function readLocator(locator: string): ForgeLocator {
  return JSON.parse(locator) as ForgeLocator;
}
