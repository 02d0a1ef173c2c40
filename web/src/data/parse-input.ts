/** Reads an edited input. @throws Error that says what to do if it is no JSON object */
export function parseInput(text: string, what = 'The input'): Record<string, unknown> {
  const value = parseJson(text, what);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(`${what} must be a JSON object: { … }`);
}

export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${what} is not JSON yet: correct the marked line first`);
  }
}

export function formatJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
