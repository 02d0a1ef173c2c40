import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;

/** Returns an object's location for SARIF: relative to the working directory, absolute outside it. */
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

/** Replaces unpaired surrogates, which no URI can contain. */
function wellFormed(text: string): string {
  return text.toWellFormed();
}
