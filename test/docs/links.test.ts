import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { join } from 'node:path';
import { test } from 'node:test';

import { anchorsOf, readPage, readPages, ROOT, type Page } from '@heddle/test-support/docs/pages';

const pages = readPages();
const documents = pages.map(({ path }) => path).filter((path) => path.startsWith('docs/'));

/** Targets of links and images in this repository. */
function localTargets(page: Page): string[] {
  const targets = [...page.prose.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!);
  return targets.filter((target) => !/^[a-z]+:/i.test(target));
}

function faultOf(page: Page, target: string): string | null {
  const [file = '', anchor] = target.split('#');
  const path = file === '' ? page.path : posix.join(posix.dirname(page.path), file);
  if (!existsSync(join(ROOT, path))) return `${page.path}: ${target}: there is no ${path}`;
  if (anchor === undefined || !path.endsWith('.md')) return null;
  return anchorsOf(readPage(path)).has(anchor) ? null : `${page.path}: ${target}: ${path} has no such heading`;
}

test('every link and image in the repository has a target, including anchors', () => {
  const faults = pages.flatMap((page) => localTargets(page).flatMap((target) => faultOf(page, target) ?? []));
  assert.deepEqual(faults, []);
});

function linkedPages(path: string): string[] {
  return localTargets(readPage(path))
    .map((target) => posix.join(posix.dirname(path), target.split('#')[0]!))
    .filter((file) => file.endsWith('.md'));
}

test('every page of the documentation can be reached from the README', () => {
  const reached = new Set(['README.md']);
  // A set grows while it is walked.
  for (const path of reached) if (existsSync(join(ROOT, path))) linkedPages(path).forEach((next) => reached.add(next));
  assert.deepEqual(
    documents.filter((path) => !reached.has(path)),
    [],
  );
});

test('the index of a folder links to every page in it', () => {
  const missing = documents.filter((path) => {
    const folder = posix.dirname(path);
    return path !== `${folder}/README.md` && !linkedPages(`${folder}/README.md`).includes(path);
  });
  assert.deepEqual(missing, []);
});
