import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkAmbient } from './support/tidy/ambient.ts';
import { checkDocumented, checkImported, type Manifest } from './support/tidy/dependencies.ts';
import { checkCycles, checkDoors, checkRooms } from './support/tidy/imports.ts';
import { checkNames } from './support/tidy/names.ts';
import { ROOMS } from './support/tidy/rooms.ts';
import { checkSize } from './support/tidy/size.ts';
import { type Finding, format, listFiles, readTexts, ROOT } from './support/tidy/source.ts';
import { checkSqlCodes, checkSqlFunctions } from './support/tidy/sql.ts';
import { checkStatements } from './support/tidy/statements.ts';
import { checkTestFiles, checkTests } from './support/tidy/tests.ts';
import { checkWording } from './support/tidy/wording.ts';

const paths = listFiles();
const texts = readTexts(paths);
const manifests = paths.filter((path) => /^(?:packages\/[^/]+\/|web\/)?package\.json$/.test(path));
const code = texts.filter(
  ({ path }) => /^packages\/[^/]+\/src\//.test(path) && !path.startsWith('packages/test-support/'),
);

function manifestAt(path: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Manifest;
}

function assertTidy(findings: readonly Finding[]): void {
  assert.equal(findings.length, 0, `\n${format(findings)}\n`);
}

test('there is a house to look at', () => {
  assert.ok(code.length > 0, 'no source was found: the checks below would prove nothing');
});

test('each room imports only the rooms it may', () => {
  assertTidy(checkRooms(code, ROOMS));
});

test('packages enter each other by their exports', () => {
  assertTidy(checkDoors(code));
});

test('no import cycle', () => {
  assertTidy(checkCycles(code));
});

test('time, randomness, timers and the environment are touched only where they are provided', () => {
  assertTidy(checkAmbient(code));
});

test('files and functions stay short', () => {
  assertTidy(checkSize(texts));
});

test('no file is a drawer', () => {
  assertTidy(checkNames(paths));
});

test('texts speak of the product only', () => {
  assertTidy(checkWording(texts));
});

test('tests wait on signals, and none is left out silently', () => {
  assertTidy(checkTests(texts));
});

test('code that tests share lies in test/support', () => {
  assertTidy(checkTestFiles(paths));
});

test('no two prepared statements have one name', () => {
  assertTidy(checkStatements(code));
});

test('SQL names the codes that it compares and stores', () => {
  assertTidy(checkSqlCodes(code));
});

test('functions in SQL are short, take few parameters, and their files say what they are for', () => {
  assertTidy(checkSqlFunctions(texts));
});

test('every dependency is explained', () => {
  assertTidy(checkDocumented(manifests.map(manifestAt), readFileSync(join(ROOT, 'docs/dependencies.md'), 'utf8')));
});

test('the published code imports only what is installed with it', () => {
  for (const path of manifests.filter((each) => each.startsWith('packages/'))) {
    const sources = code.filter((source) => source.path.startsWith(path.replace('package.json', 'src/')));
    const { devDependencies } = manifestAt('package.json');
    assertTidy(checkImported(sources, { ...manifestAt(path), ...(devDependencies && { devDependencies }) }));
  }
});
