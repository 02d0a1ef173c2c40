import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { parseWorkflow } from '@heddle/core/domain/parse/workflow';
import { MAX_TASKS, NewTaskList } from 'heddle/internal/http/wire/new-task';
import { FaultList } from 'heddle/internal/http/validation/explain';
import { checkerOf } from 'heddle/internal/http/validation/check';
import { newId } from '@heddle/base/random';
import { createTestServer } from '@heddle/test-support/http/server';
import { readPage, readPages, ROOT, tableRows } from '@heddle/test-support/docs/pages';

interface OpenApi {
  paths: Record<string, Record<string, { security?: { bearer?: string[] }[] }>>;
}

test('the table of endpoints matches the API, with the scope of each', async () => {
  const { app } = await createTestServer();
  const { paths } = (await app.inject('/v1/openapi.json')).json<OpenApi>();
  await app.close();
  const offered = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => {
      return `${method.toUpperCase()} ${path}: ${security?.[0]?.bearer?.[0] ?? 'none'}`;
    }),
  );
  const documented = tableRows(readPage('docs/http.md')).flatMap(([endpoint, , scope]) => {
    const [, name] = /^\[`([A-Z]+ \/[^`]*)`\]/.exec(endpoint ?? '') ?? [];
    return name === undefined ? [] : [`${name}: ${scope!.split(/[, ]/)[0]!}`];
  });
  assert.deepEqual(documented.sort(), offered.sort());
});

test('JSON in the documentation is valid', () => {
  for (const { path, fences } of readPages()) {
    for (const { language, text } of fences) {
      if (language !== 'json') continue;
      assert.doesNotThrow(() => JSON.parse(text.replaceAll('{…}', '{}')) as unknown, `${path}: ${text.slice(0, 200)}`);
    }
  }
});

/** The arrays of tasks in a page's JSON and shell code, as sent to `POST /task`. */
function submissionsOf(text: string): unknown[] {
  return [...text.matchAll(/^.*?(\[\n *\{[\s\S]*?\n\])/gm)]
    .map((match) => JSON.parse(match[1]!) as Record<string, unknown>[])
    .filter(([first]) => first !== undefined && 'kind' in first && !('status' in first) && !('task_id' in first));
}

test('tasks in the documentation are accepted', () => {
  const checker = checkerOf(NewTaskList);
  const found = readPages().flatMap(({ path, fences }) =>
    fences
      .filter(({ language }) => ['json', 'sh'].includes(language))
      .flatMap(({ text }) => submissionsOf(text).map((tasks) => ({ path, tasks }))),
  );
  assert.ok(found.length >= 3, 'no submissions were found: this test would prove nothing');
  for (const { path, tasks } of found) {
    const faults = new FaultList(MAX_TASKS);
    if (!checker.fits(tasks)) checker.explain(tasks, 'tasks', faults);
    assert.deepEqual(faults.faults, [], path);
  }
});

test('workflows in the documentation and the examples are accepted', () => {
  const shown = readPages().flatMap(({ path, fences }) =>
    fences
      .filter(({ language, text }) => language === 'json' && text.startsWith('{'))
      .map(({ text }) => ({ path, value: JSON.parse(text.replaceAll('{…}', '{}')) as object }))
      // Objects with an id are responses.
      .filter(({ value }) => 'root' in value && !('id' in value)),
  );
  assert.ok(shown.length >= 3, 'no workflows were found: this test would prove nothing');
  const example = 'examples/workflow-minimal.json';
  const files = [{ path: example, value: JSON.parse(readFileSync(join(ROOT, example), 'utf8')) as object }];
  for (const { path, value } of [...shown, ...files]) {
    const parsed = parseWorkflow(value, newId);
    assert.deepEqual(parsed.ok ? [] : parsed.faults, [], path);
  }
});
