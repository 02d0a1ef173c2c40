/** Converts to lower-case bytes as latin1, so that keywords are compared with bytes. */
export function lowerCaseBytes(text: string): string {
  return lowerCaseAscii(Buffer.from(text, 'utf8').toString('latin1'));
}

/** Converts the ASCII letters of bytes as latin1. */
export function lowerCaseAscii(bytes: string): string {
  return /[^\x00-\x7f]/.test(bytes)
    ? bytes.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
    : bytes.toLowerCase();
}
