/** Converts to lower-case bytes as latin1, so that keywords are compared with bytes. */
export function lowerCaseBytes(text: string): string {
  return Buffer.from(text, 'utf8')
    .toString('latin1')
    .replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
