import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { join } from 'node:path';
import { test } from 'node:test';

import { anchorsOf, readPage, readPages, ROOT, type Page } from '@heddle/test-support/docs/pages';

const pages = readPages();

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

test('the README links to every page of the documentation', () => {
  const linked = localTargets(readPage('README.md')).map((target) => target.split('#')[0]);
  const documents = pages.map(({ path }) => path).filter((path) => path.startsWith('docs/'));
  assert.deepEqual(
    documents.filter((path) => !linked.includes(path)),
    [],
  );
});
