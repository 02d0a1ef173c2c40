/** The page of the design system shows every shared part of the console. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const WEB = join(import.meta.dirname, '../../web/src');

/** Shown by the frame of every page, this one too: toasts by the button "Notify", the other while the page loads. */
const SHOWN_BY_FRAME = ['Toasts', 'Loading'];

function textOf(folder: string): string {
  const names = readdirSync(join(WEB, folder)).filter((name) => name.endsWith('.tsx'));
  return names.map((name) => readFileSync(join(WEB, folder, name), 'utf8')).join('\n');
}

test('every exported part of web/src/ui is shown at /design', () => {
  const parts = [...textOf('ui').matchAll(/^export (?:function|const) ([A-Z]\w*[a-z]\w*)/gm)].map(([, name]) => name!);
  assert.ok(parts.length > 30, `${parts.length} parts`);
  const shown = textOf('design');
  const missing = parts.filter((name) => !SHOWN_BY_FRAME.includes(name) && !new RegExp(`<${name}[\\s/>]`).test(shown));
  assert.deepEqual(missing, [], 'add them to web/src/design/');
});
