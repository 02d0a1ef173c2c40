/** Steps from the root of a document to one of its values. */
export type JsonPath = readonly (string | number)[];

/** What is wrong at one place of a document. */
export interface Fault {
  path: JsonPath;
  message: string;
}

const STEP = /\.?([A-Za-z_$][\w$-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;

/** Reads a path as the server writes it: `tasks[0].metadata["a key"]`. Null: it is none. */
export function parsePath(text: string): JsonPath | null {
  const path: (string | number)[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const match = STEP.exec(text);
    if (match === null) return null;
    if (match[2] !== undefined) path.push(Number(match[2]));
    else path.push(match[1] ?? (JSON.parse(match[3]!) as string));
  }
  return path;
}

/** Writes a path as the server does. */
export function formatPath(path: JsonPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    if (!/^[A-Za-z_$][\w$-]*$/.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** Whether one path leads to a place at or below another. */
export function isBelow(path: JsonPath, above: JsonPath): boolean {
  return above.length <= path.length && above.every((step, index) => step === path[index]);
}

/**
 * Reads the details of an error of the server, each with its place below `root`: those elsewhere are left out.
 *
 * @param root how the server calls this document, such as `input`; '' if its paths begin with members of it
 */
export function faultsOfDetails(details: readonly string[], root: string): Fault[] {
  const above = parsePath(root) ?? [];
  return details.flatMap((detail) => {
    const [, place = '', message = detail] = /^(\S+?|\S*\[".*?"\]\S*): (.*)$/s.exec(detail) ?? [];
    const path = parsePath(place);
    if (path === null || place === '' || !isBelow(path, above)) return [];
    return [{ path: path.slice(above.length), message }];
  });
}
