import assert from 'node:assert/strict';
import { existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, afterEach, describe, it, test } from 'node:test';

import { openSource } from '../../src/source/open-source.ts';
import type { ObjectSource } from '../../src/source/port.ts';
import { githubContent, gitlabContent, key, specOf, TOKEN } from '../support/forge/content.ts';
import { ForgeServer, sendJson } from '../support/forge/forge-server.ts';
import { optionsFor, scan } from '../support/scan-fixture.ts';
import { conforms, listAll } from '../support/source/conformance.ts';
import { commit, git, newRepository, root } from '../support/source/repository.ts';

process.env['GITHUB_TOKEN'] = TOKEN;
process.env['GITLAB_TOKEN'] = TOKEN;
// Clones are made here, where the tests can look at them.
const clones = join(root, 'clones');
mkdirSync(clones);
process.env['TMPDIR'] = clones;

const shop = newRepository();
const first = commit(shop, `Message ${key(1)}`, { 'src/a.env': `A=${key(2)}\n`, '.env': `B=${key(3)}\n` });
commit(shop, 'Removed', { 'src/a.env': 'A=\n' });
git(shop, 'checkout', '-q', '-b', 'proposal');
const proposal = commit(shop, 'Proposal', { 'src/b.env': `C=${key(4)}\n` });
git(shop, 'update-ref', 'refs/pull/2/head', proposal);
git(shop, 'checkout', '-q', 'main');
git(shop, 'branch', '-D', 'proposal');
const wiki = newRepository();
commit(wiki, 'Home', { 'Home.md': `Use ${key(5)}\n` });
const tools = newRepository();
commit(tools, 'Tools', { 'tool.sh': `KEY=${key(6)}\n` });

const github: ForgeServer = await new ForgeServer(
  join(root, 'github'),
  githubContent(() => github.url),
).start();
const gitlab = await new ForgeServer(join(root, 'gitlab'), gitlabContent()).start();
after(async () => {
  await github[Symbol.asyncDispose]();
  await gitlab[Symbol.asyncDispose]();
});
afterEach(() => assert.deepEqual(readdirSync(clones), [], 'no clone is left'));
github.publish(shop, 'acme/shop');
github.publish(wiki, 'acme/shop.wiki');
github.publish(tools, 'acme/tools');
github.publish(tools, 'acme/fork');
gitlab.publish(shop, 'acme/web/shop');

const scanOf = (spec: ReturnType<typeof specOf>) => scan(optionsFor('', { sources: [spec] }));
const found = ({ findings }: Awaited<ReturnType<typeof scan>>): Record<string, string> =>
  Object.fromEntries(findings.map(({ path, secret }) => [secret, path]));

describe('repositories of GitHub and GitLab', () => {
  conforms({ name: 'github', open: () => comparable(specOf('github', github)), objects: 16 });
  conforms({ name: 'gitlab', open: () => comparable(specOf('gitlab', gitlab)), objects: 14 });

  it('finds secrets of an organization in histories, pull requests, wikis, issues and comments', async () => {
    const result = await scanOf(specOf('github', github));
    const { host, url } = github;
    assert.deepEqual(found(result), {
      [key(1)]: `${host}/acme/shop/commit:${first}`,
      [key(2)]: `${host}/acme/shop/src/a.env`,
      [key(3)]: `${host}/acme/shop/.env`,
      [key(4)]: `${host}/acme/shop/src/b.env`,
      [key(5)]: `${host}/acme/shop.wiki/Home.md`,
      [key(6)]: `${host}/acme/tools/tool.sh`,
      [key(11)]: `${url}/acme/shop/issues/1`,
      [key(12)]: `${url}/acme/shop/pull/2`,
      [key(13)]: `${url}/acme/shop/issues/1#issuecomment-7`,
      [key(14)]: `${url}/acme/shop/issues#8`,
    });
    assert.equal(result.summary.outcome, 'complete', JSON.stringify(result.problems));
    const [message, file] = [1, 2].map(
      (number) => result.findings.find(({ secret }) => secret === key(number))!.commit!,
    );
    assert.equal(message!.url, `${url}/acme/shop/commit/${first}`);
    assert.equal(file!.url, `${url}/acme/shop/blob/${first}/src/a.env`);
    assert.ok(!file!.subject.includes(key(1)), 'a secret of the message is not shown in its subject');
    assert.deepEqual(readdirSync(clones), [], 'no clone is left');
  });

  it('finds secrets of a group with its subgroups', async () => {
    const result = await scanOf(specOf('gitlab', gitlab));
    const { host, url } = gitlab;
    const places = found(result);
    assert.equal(places[key(2)], `${host}/acme/web/shop/src/a.env`);
    assert.equal(places[key(21)], `${url}/acme/web/shop/-/issues/1`);
    assert.equal(places[key(22)], `${url}/acme/web/shop/-/issues/1#note_901`);
    assert.equal(places[key(23)], `${url}/acme/web/shop/-/issues/1#note_903`);
    assert.equal(places[key(24)], `${url}/acme/web/shop/-/merge_requests/1`);
    assert.equal(places[key(25)], `${url}/acme/notes/-/issues/1`);
    const { commit: origin } = result.findings.find(({ secret }) => secret === key(3))!;
    assert.equal(origin!.url, `${url}/acme/web/shop/-/blob/${first}/.env`);
    assert.equal(result.summary.outcome, 'complete', JSON.stringify(result.problems));
  });

  it('selects repositories and parts of them', async () => {
    const pathsOf = async (changes: object) => Object.values(found(await scanOf(specOf('github', github, changes))));
    const all = await pathsOf({ include_forks: true, skip_issues: true, skip_wikis: true });
    assert.ok(all.every((path) => !path.startsWith('http') && !path.includes('.wiki/')));
    github.content.objects['/repos/acme/fork'] = { id: 20, full_name: 'acme/fork', fork: true, has_wiki: false };
    for (const feed of ['issues', 'issues/comments', 'pulls/comments'])
      github.content.lists[`/repos/acme/fork/${feed}`] = [];
    assert.deepEqual(
      await pathsOf({ owner: 'acme/fork' }),
      [`${github.host}/acme/fork/tool.sh`],
      'a fork that is named',
    );
    const active = await pathsOf({ skip_archived: true });
    assert.ok(active.every((path) => path.includes('acme/shop')));
  });
});

describe('tokens', () => {
  it('are in no argument and no file of a clone, and go to no other server', async (t) => {
    const elsewhere = await new ForgeServer(newFolder(), { api: '/api/v3', lists: {}, objects: {} }).start();
    t.after(() => elsewhere[Symbol.asyncDispose]());
    const basic = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');
    const texts: string[] = [];
    let configurations = 0;
    github.intercept = (request, response) => {
      if (request.url!.includes('git-upload-pack')) {
        for (const file of globSync('/proc/[0-9]*/cmdline')) texts.push(readIfThere(file));
        for (const file of globSync(`${clones}/*/*/config`)) {
          configurations += 1;
          texts.push(readIfThere(file));
        }
      }
      const isMoved = request.url!.includes('/tools/pulls?') || request.url!.includes('/tools.git/');
      if (isMoved) response.writeHead(302, { location: `${elsewhere.url}${request.url!}` }).end();
      return isMoved;
    };
    t.after(() => (github.intercept = () => false));
    const result = await scanOf(specOf('github', github));
    assert.ok(configurations > 0, 'a clone was inspected while it was made');
    assert.ok(texts.every((text) => !text.includes(TOKEN) && !text.includes(basic)));
    assert.deepEqual(elsewhere.seen, []);
    const problems = result.problems.map(({ path, message }) => `${path}: ${message}`);
    assert.equal(problems.length, 2, problems.join('\n'));
    assert.match(problems[0]!, /acme\/tools: git cannot read http:.*tools\.git/);
    assert.match(problems[1]!, /acme\/tools: pulls: .* redirects to http:\S+, which is not followed/);
    assert.ok(!JSON.stringify(result).includes(TOKEN));
    assert.equal(found(result)[key(2)], `${github.host}/acme/shop/src/a.env`, 'the others are scanned');
  });

  it('follow a redirect within the server, as of a renamed repository', async (t) => {
    github.intercept = ({ url }, response) => {
      if (!url!.startsWith('/api/v3/orgs/old/')) return false;
      response.writeHead(301, { location: url!.replace('/old/', '/acme/') }).end();
      return true;
    };
    t.after(() => (github.intercept = () => false));
    github.content.objects['/users/old'] = { type: 'Organization' };
    assert.equal(Object.keys(found(await scanOf(specOf('github', github, { owner: 'old' })))).length, 10);
  });

  it('that are refused end the scan with the remedy', async (t) => {
    process.env['GITHUB_TOKEN'] = 'another';
    t.after(() => (process.env['GITHUB_TOKEN'] = TOKEN));
    const { summary } = await scanOf(specOf('github', github));
    assert.equal(summary.outcome, 'aborted');
    assert.match(summary.reason!, /GitHub refuses the token in GITHUB_TOKEN/);
    assert.ok(!summary.reason!.includes('another'));
  });
});

describe('failures of a server', () => {
  it('of one repository are problems', async (t) => {
    github.intercept = ({ url }, response) => {
      if (!/shop\.git|shop\/issues\?/.test(url!)) return false;
      sendJson(response, 403, { message: 'Forbidden' });
      return true;
    };
    t.after(() => (github.intercept = () => false));
    const result = await scanOf(specOf('github', github));
    assert.equal(result.summary.outcome, 'incomplete');
    assert.deepEqual(
      result.problems.map(({ code, path }) => [code, path]),
      Array.from({ length: 2 }, () => ['source_failed', `${github.host}/acme/shop`]),
    );
    assert.ok(key(13) in found(result) && key(6) in found(result));
  });

  it('are waited for as its rate limits say', async (t) => {
    let limited = 0;
    github.intercept = ({ url }, response) => {
      if (!url!.includes('/shop/issues?') || limited >= 2) return false;
      limited += 1;
      const reset = String(Math.floor(Date.now() / 1000));
      const headers: Record<string, string> =
        limited === 1 ? { 'retry-after': '1' } : { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset };
      response.writeHead(limited === 1 ? 429 : 403, headers).end('{}');
      return true;
    };
    t.after(() => (github.intercept = () => false));
    const source = await openSource(specOf('github', github, { owner: 'acme' }));
    const seen = new Set<string>();
    const listing = listAll(source);
    const watch = setInterval(() => seen.add(source.status ?? ''), 10);
    const { problems } = await listing;
    clearInterval(watch);
    await source.close();
    assert.equal(limited, 2);
    assert.deepEqual(problems, []);
    assert.ok(
      [...seen].some((status) => /^waiting until .* UTC for the rate limit of 127/.test(status)),
      [...seen].join(),
    );
    assert.ok(
      [...seen].some((status) => /^cloning .*acme\/shop, repository 1 of 2$/.test(status)),
      [...seen].join(),
    );
  });

  it('a wait of hours ends the scan, and says when to resume', async (t) => {
    github.intercept = ({ url }, response) => {
      if (!url!.includes('/shop/issues?')) return false;
      response.writeHead(429, { 'retry-after': '36000' }).end('{}');
      return true;
    };
    t.after(() => (github.intercept = () => false));
    const { summary } = await scanOf(specOf('github', github));
    assert.match(summary.reason!, /limits the rate of requests until .* UTC; resume the scan then, with --state FILE/);
  });

  it('that name pages elsewhere, or no pages, are problems', async (t) => {
    github.intercept = ({ url }, response) => {
      if (url!.includes('/shop/issues?')) {
        response.setHeader('link', '<https://elsewhere.example/api/v3/x>; rel="next"');
        sendJson(response, 200, []);
      } else if (url!.includes('/shop/issues/comments')) response.end('<html>');
      else if (url!.includes('/shop/pulls/comments')) sendJson(response, 200, { message: 'x' });
      else return false;
      return true;
    };
    t.after(() => (github.intercept = () => false));
    const { problems } = await scanOf(specOf('github', github));
    const messages = problems.map(({ message }) => message);
    assert.match(messages[0]!, /^issues: .* names a next page outside/);
    assert.match(messages[1]!, /^comments: .* did not answer with JSON/);
    assert.match(messages[2]!, /^review comments: .* is not a list of objects/);
  });

  it('a repository that is too large is not scanned', async () => {
    const { problems, findings } = await scanOf(specOf('github', github, { clone_bytes_max: 10 }));
    assert.equal(problems.filter(({ message }) => /raise --clone-size/.test(message)).length, 3);
    assert.ok(findings.every(({ path }) => path.startsWith('http')));
  });
});

test('a scan of an organization resumes where it was interrupted', async (t) => {
  const statePath = join(newFolder(), 'state');
  const sources = [specOf('github', github)];
  const abort = new AbortController();
  github.intercept = ({ url }) => {
    if (url!.includes('/shop/issues/comments')) abort.abort();
    return false;
  };
  t.after(() => (github.intercept = () => false));
  const before = await scan(optionsFor('', { sources }), { statePath, signal: abort.signal });
  assert.equal(before.summary.outcome, 'aborted');
  assert.deepEqual(readdirSync(clones), [], 'the clone is removed');
  github.intercept = () => false;
  github.seen.length = 0;
  const rest = await scan(optionsFor('', { sources }), { statePath });
  assert.equal(rest.findings.length, 10, 'with those before the interruption');
  assert.ok(!github.seen.some(({ url }) => url.includes('/shop.git/')), 'what was finished is not cloned again');
  assert.ok(existsSync(statePath));
});

test('a scan that is stopped while a server does not answer a clone ends, and leaves nothing', async (t) => {
  const abort = new AbortController();
  const held: ServerResponse[] = [];
  github.intercept = ({ url }, response) => {
    if (!url!.includes('/shop.git/')) return false;
    held.push(response);
    abort.abort();
    return true;
  };
  t.after(() => {
    github.intercept = () => false;
    for (const response of held) response.destroy();
  });
  const { summary } = await scan(optionsFor('', { sources: [specOf('github', github)] }), { signal: abort.signal });
  assert.equal(summary.outcome, 'aborted');
  assert.ok(held.length > 0 && held.every(({ writableEnded }) => !writableEnded));
});

test('a repository whose branches changed during an interruption is listed from its beginning', async () => {
  const spec = specOf('gitlab', gitlab);
  const source = await comparable(spec);
  const whole = await listAll(source, 2);
  await source.close();
  const path = join(root, 'gitlab/acme/web/shop.git');
  git(path, 'branch', 'new', 'main~1');
  const again = await comparable(spec);
  const rest = await listAll(again, 2, whole.cursors[0]);
  await again.close();
  git(path, 'branch', '-D', 'new');
  assert.deepEqual(
    rest.objects.map((object) => object.path),
    whole.objects.map((object) => object.path),
  );
  assert.deepEqual(
    rest.problems.map(({ extent, message }) => [extent, message.slice(0, 30)]),
    [['notice', 'it has other branches or tags ']],
  );
});

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

/** Beside the clones. */
function newFolder(): string {
  return mkdtempSync(join(root, 'folder-'));
}

/** A source whose objects do not show where their clone is. */
async function comparable(spec: ReturnType<typeof specOf>): Promise<ObjectSource> {
  const source = await openSource(spec);
  return {
    name: source.name,
    async enumerate(cursor, limit) {
      const batch = await source.enumerate(cursor, limit);
      const objects = batch.objects.map((object) => ({
        ...object,
        locator: object.locator.replace(/"[^"]+\/\d+\.git"/, '"clone"'),
      }));
      return { ...batch, objects };
    },
    close: () => source.close(),
  };
}
