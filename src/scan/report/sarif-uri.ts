import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;

/** Where an object lies, as SARIF names it: relative to where the scan was started, absolute where it lies elsewhere. */
export function artifactUri(path: string, workingDirectory: string): string {
  const scheme = SCHEME.exec(path);
  if (scheme !== null) return scheme[0] + encodedSegments(path.slice(scheme[0].length));
  const plain = path.replace(/^(\.\/+)+/, '');
  if (plain.startsWith('/') || /(^|\/)\.{1,2}(\/|$)/.test(plain)) {
    return pathToFileURL(resolve(workingDirectory, wellFormed(plain))).href;
  }
  return encodedSegments(plain);
}

function encodedSegments(path: string): string {
  return wellFormed(path).split('/').map(encodeURIComponent).join('/');
}

/** Without halves of surrogate pairs, which no URI can hold. */
function wellFormed(text: string): string {
  return text.toWellFormed();
}
