/** Exports of chats and trackers: archives and JSON, which need nothing of their own. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { buildZip } from './support/archive/corpus/zip.ts';
import { optionsFor, scan, temporaryFolder, write } from './support/scan-fixture.ts';

test('findings in exports of Slack, Jira and Confluence name the channel, the day and the field', async (t) => {
  const folder = temporaryFolder(t);
  const messages = Array.from({ length: 40 }, (_, index) => ({
    user: 'U0123',
    ts: `17000000${index}.000100`,
    text: index === 30 ? 'use MADEUP-100001 for now' : `message ${index}`,
    blocks: [{ type: 'rich_text', elements: [{ type: 'text', text: index === 31 ? 'or MADEUP-100002' : 'x' }] }],
  }));
  const slack = buildZip([
    { name: 'users.json', content: '[]' },
    { name: 'general/2025-01-31.json', content: JSON.stringify(messages, null, 4) },
  ]);
  const jira = { projects: [{ issues: [{ key: 'A-1' }, { key: 'A-2', comments: [{ body: 'MADEUP-100003' }] }] }] };
  const page = { results: [{ title: 'Runbook', body: { storage: { value: '<p>MADEUP-100004</p>' } } }] };
  write(join(folder, 'slack.zip'), slack);
  write(join(folder, 'jira.json'), JSON.stringify(jira));
  write(join(folder, 'confluence.json'), JSON.stringify(page));
  const { findings, problems } = await scan(optionsFor(folder));
  assert.deepEqual(problems, []);
  assert.deepEqual(
    findings.map(({ path, key_path, secret }) => [path.slice(folder.length + 1), key_path, secret]),
    [
      ['confluence.json', 'results[0].body.storage.value', 'MADEUP-100004'],
      ['jira.json', 'projects[0].issues[1].comments[0].body', 'MADEUP-100003'],
      ['slack.zip!general/2025-01-31.json', '….text', 'MADEUP-100001'],
      ['slack.zip!general/2025-01-31.json', '….blocks[0].elements[0].text', 'MADEUP-100002'],
    ],
  );
  // Who wrote it, and when.
  const around = findings[2]!.context!.map(({ text }) => text).join('\n');
  assert.match(around, /"user": "U0123"[\s\S]*"ts": "1700000030\.000100"/);
});
