/** Logins in a real browser, at a real identity provider, with two servers behind one address. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';

import type { Browser, BrowserContext, Cookie, Page } from 'playwright-core';

import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import type { TokenScope } from '@heddle/core/domain/token';
import { TokenStore } from '@heddle/core/store/tokens';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { eventually } from '@heddle/test-support/eventually';
import { launchBrowser } from '../support/web/browser.ts';
import { CLIENT_ID, CLIENT_SECRET, TestIdentityProvider } from '../support/web/identity-provider.ts';
import { RoundRobin } from '../support/web/round-robin.ts';

const ROLES = 'groups: admins=admin, sre=operator+command, staff=viewer';

let entrance: RoundRobin;
let provider: TestIdentityProvider;
let servers: Heddle[];
let tokens: TokenStore;
let browser: Browser;
let context: BrowserContext;
let page: Page;

before(async () => {
  browser = await launchBrowser();
  entrance = await RoundRobin.start();
  provider = await TestIdentityProvider.start(`${entrance.url}/login/oidc/callback`);
  const flags = {
    HOST_URL: entrance.url,
    HEDDLE_REQUIRE_TOKENS: '1',
    HEDDLE_OIDC_ISSUER: provider.issuer,
    HEDDLE_OIDC_CLIENT_ID: CLIENT_ID,
    HEDDLE_OIDC_CLIENT_SECRET: CLIENT_SECRET,
    HEDDLE_OIDC_SCOPES: 'openid profile email groups',
    HEDDLE_OIDC_LABEL: 'Example ID',
    HEDDLE_OIDC_ROLES: ROLES,
  };
  const first = await startHeddle({ flags });
  servers = [first, await startHeddle({ flags, beside: first })];
  entrance.serve(...servers.map(({ system }) => system.port));
  tokens = new TokenStore({ database: first.database, clock: systemClock, random: systemRandom });
});

after(async () => {
  await browser.close();
  for (const server of servers.toReversed()) await server.stop();
  await provider.stop();
  await entrance.stop();
});

beforeEach(async () => {
  context = await browser.newContext();
  page = await context.newPage();
});

afterEach(() => context.close());

interface LoginState {
  user: { name: string; role: string; scopes: string[]; session_id: string } | null;
}

/** Sends a request with the cookie of the page; returns the status. */
function statusOf(path: string): Promise<number> {
  return page.evaluate(async (url) => (await fetch(url)).status, path);
}

function user(): Promise<LoginState['user']> {
  return page.evaluate(async () => ((await (await fetch('/v1/session')).json()) as LoginState).user);
}

async function cookieNamed(name: string): Promise<Cookie | undefined> {
  return (await context.cookies()).find((cookie) => cookie.name === name);
}

async function newToken(scopes: TokenScope[]): Promise<{ text: string; id: string }> {
  const { text, token } = await tokens.create('paula', scopes, null);
  return { text, id: token.id };
}

function loggedIn(of: Page): Promise<void> {
  return of.getByRole('button', { name: /^User / }).waitFor();
}

async function logInWithToken(text: string): Promise<void> {
  await page.goto(entrance.url);
  await page.getByLabel('Token').fill(text);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await loggedIn(page);
}

/** Signs in at the provider, where the browser is. */
async function signIn(name: string): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function logInAtProvider(name: string, path = '/'): Promise<void> {
  await page.goto(`${entrance.url}${path}`);
  await page.getByRole('link', { name: 'Log in with Example ID' }).click();
  await signIn(name);
  await loggedIn(page);
}

/** Follows a login up to the provider's redirect back, which is held; returns its address. */
async function heldCallback(name: string): Promise<string> {
  provider.isHolding = true;
  await page.goto(`${entrance.url}/login/oidc`);
  if (await page.getByLabel('Name').isVisible()) await signIn(name);
  await page.getByText('Held').waitFor();
  provider.isHolding = false;
  return provider.held!;
}

describe('with a token', () => {
  test('one login serves all tabs and both servers, until it is logged out', async () => {
    const { text } = await newToken(['read']);
    await logInWithToken(text);
    const cookie = (await cookieNamed('heddle_session'))!;
    assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.secure, cookie.path], [true, 'Strict', false, '/']);
    assert.equal(
      await page.evaluate('document.cookie + sessionStorage.length + localStorage.getItem("heddle.token")'),
      '0null',
    );
    const other = await context.newPage();
    await other.goto(`${entrance.url}/jobs`);
    await loggedIn(other);
    for (const { url } of servers) {
      const headers = { cookie: `heddle_session=${cookie.value}` };
      assert.equal((await fetch(`${url}/task`, { headers })).status, 200);
    }
    assert.deepEqual(
      servers.map(({ system }) => (entrance.connections.get(system.port) ?? 0) > 0),
      [true, true],
    );
    await page.getByRole('button', { name: 'User paula' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    assert.equal(await cookieNamed('heddle_session'), undefined);
    await other.reload();
    await other.getByRole('heading', { name: 'Log in' }).waitFor();
  });

  test('a session that another user ends, and one of a revoked token, end within seconds on open pages', async () => {
    const { text } = await newToken(['read']);
    const admin = { authorization: `Bearer ${(await newToken(['admin'])).text}` };
    await logInWithToken(text);
    const { session_id } = (await user())!;
    assert.equal(
      (await fetch(`${entrance.url}/v1/sessions/${session_id}`, { method: 'DELETE', headers: admin })).status,
      204,
    );
    await eventually(async () => (await statusOf('/task')) === 401, 'both servers refuse the session', 10_000);
    await page.reload();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    const revoked = await newToken(['read']);
    await logInWithToken(revoked.text);
    const url = `${entrance.url}/v1/tokens/${revoked.id}`;
    assert.equal((await fetch(url, { method: 'DELETE', headers: admin })).status, 204);
    await eventually(async () => (await statusOf('/task')) === 401, 'both servers refuse the session', 10_000);
  });

  test('an expired session leads to the login', async () => {
    await logInWithToken((await newToken(['read'])).text);
    const { session_id } = (await user())!;
    await servers[0]!.database.query({
      name: 'test.expire',
      text: `update session set expires_at = now() - interval '1 second' where id = '${session_id}'`,
    });
    await eventually(async () => (await statusOf('/task')) === 401, 'the session has expired', 10_000);
    await page.reload();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
  });

  test('an event stream ends with its session', async () => {
    const { text } = await newToken(['read', 'submit']);
    const submitted = await fetch(`${entrance.url}/task`, {
      method: 'POST',
      headers: { authorization: `Bearer ${text}`, 'content-type': 'application/json' },
      body: JSON.stringify([{ name: 'waits', kind: 'nobody-takes-it' }]),
    });
    const batch = submitted.headers.get('x-batch-id')!;
    await logInWithToken(text);
    const { session_id } = (await user())!;
    const read = await page.evaluate(
      async ([url, session]) => {
        const response = await fetch(url!);
        const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
        let text = '';
        let open = true;
        const readUntil = async (part: string): Promise<void> => {
          while (open && !text.includes(part)) {
            const { done, value } = await reader.read();
            open = !done;
            text += value ?? '';
          }
        };
        await readUntil('event: change');
        const openBefore = open;
        await fetch(`/v1/sessions/${session!}`, { method: 'DELETE' });
        await readUntil('event: end');
        return { status: response.status, openBefore, openAfter: open };
      },
      [`/v1/batches/${batch}/events`, session_id],
    );
    assert.deepEqual(read, { status: 200, openBefore: true, openAfter: false });
  });
});

describe('at the identity provider', () => {
  test('users come back to where they were, with the role of their groups', async () => {
    const roles: [string, string, string[]][] = [
      ['ann', 'admin', ['read', 'submit', 'work', 'operate', 'command', 'runner', 'admin']],
      ['oliver', 'operator', ['read', 'submit', 'work', 'operate', 'command']],
      ['vera', 'viewer', ['read']],
    ];
    for (const [name, role, scopes] of roles) {
      await logInAtProvider(name, '/schedules?paused=true');
      assert.equal(page.url(), `${entrance.url}/schedules?paused=true`);
      const found = (await user())!;
      assert.deepEqual([found.name, found.role, found.scopes], [`${name}@example.com`, role, scopes]);
      const cookie = (await cookieNamed('heddle_session'))!;
      assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, 'Strict']);
      assert.equal(await cookieNamed('heddle_login'), undefined);
      await context.clearCookies();
    }
    const headers = { authorization: `Bearer ${(await newToken(['admin'])).text}` };
    const query = 'actor=oidc:vera@example.com';
    const entries = (await (await fetch(`${entrance.url}/v1/audit?${query}`, { headers })).json()) as {
      action: string;
    }[];
    assert.deepEqual(
      entries.map(({ action }) => action),
      ['GET /login/oidc/callback'],
    );
  });

  test('the cookie of a login that is under way is short-lived, and comes along from the provider', async () => {
    await page.goto(`${entrance.url}/login/oidc`);
    const { httpOnly, sameSite, path, expires } = (await cookieNamed('heddle_login'))!;
    assert.deepEqual([httpOnly, sameSite, path], [true, 'Lax', '/login/oidc']);
    assert.ok(expires - Date.now() / 1000 <= 600);
  });

  test('users without a role are refused with a page that says so', async () => {
    await page.goto(`${entrance.url}/login/oidc`);
    await signIn('norbert');
    await page.getByRole('heading', { name: 'You have no role here' }).waitFor();
    await page.getByText('norbert@example.com may log in at the provider').waitFor();
    assert.equal(await cookieNamed('heddle_session'), undefined);
  });

  test('a wrong state, a missing one and one of another browser open no session', async () => {
    const url = new URL(await heldCallback('ann'));
    const state = url.searchParams.get('state')!;
    for (const wrong of [`${state}x`, null]) {
      const kept = await context.cookies();
      if (wrong === null) url.searchParams.delete('state');
      else url.searchParams.set('state', wrong);
      await page.goto(url.href);
      await page.getByRole('heading', { name: 'does not belong to this login' }).waitFor();
      await context.addCookies(kept);
    }
    url.searchParams.set('state', state);
    const stranger = await browser.newContext();
    const elsewhere = await stranger.newPage();
    await elsewhere.goto(url.href);
    await elsewhere.getByRole('heading', { name: 'This login is not under way' }).waitFor();
    assert.deepEqual(await stranger.cookies(entrance.url), []);
    await stranger.close();
  });

  test('a code serves once, and its login cannot be finished again', async () => {
    const url = await heldCallback('ann');
    const [kept] = (await context.cookies()).filter(({ name }) => name === 'heddle_login');
    await page.goto(url);
    await loggedIn(page);
    await context.clearCookies({ name: 'heddle_session' });
    await page.goto(url);
    await page.getByRole('heading', { name: 'This login is not under way' }).waitFor();
    await context.addCookies([kept!]);
    await page.goto(url);
    await page.getByRole('heading', { name: 'was used already' }).waitFor();
    assert.equal(await cookieNamed('heddle_session'), undefined);
  });

  test('an identity for another login is refused by its nonce', async () => {
    const begun = await context.request.get(`${entrance.url}/login/oidc`, { maxRedirects: 0 });
    const url = new URL(begun.headers()['location']!);
    url.searchParams.set('nonce', 'of-another-login');
    await page.goto(url.href);
    await signIn('ann');
    await page.getByRole('heading', { name: 'does not belong to this login' }).waitFor();
    assert.equal(await cookieNamed('heddle_session'), undefined);
  });

  test('a code of another login is refused for want of its verifier', async () => {
    const foreign = new URL(await heldCallback('vera'));
    const own = new URL(await heldCallback('vera'));
    own.searchParams.set('code', foreign.searchParams.get('code')!);
    await page.goto(own.href);
    await page.getByRole('heading', { name: 'was used already, or has expired' }).waitFor();
    assert.equal(await cookieNamed('heddle_session'), undefined);
  });

  test('a user who cancels at the provider reads why the login failed', async () => {
    const url = new URL(await heldCallback('vera'));
    url.searchParams.delete('code');
    url.searchParams.set('error', 'access_denied');
    url.searchParams.set('error_description', '<b>The user canceled</b>');
    await page.goto(url.href);
    await page.getByRole('heading', { name: '<b>The user canceled</b>' }).waitFor();
  });

  test('a login leads to paths of this server only', async () => {
    for (const target of [
      '//evil.test/',
      'https://evil.test/',
      '/\\evil.test',
      '/.//evil.test',
      '/%09//x\t',
      'javascript:alert(1)',
    ]) {
      await page.goto(`${entrance.url}/login/oidc?return_to=${encodeURIComponent(target)}`);
      if (await page.getByLabel('Name').isVisible()) await signIn('vera');
      await loggedIn(page);
      assert.equal(new URL(page.url()).origin, entrance.url, target);
    }
  });
});

describe('a page of another origin, for a browser that is logged in', () => {
  test('changes and reads nothing', async (own) => {
    await logInWithToken((await newToken(['admin'])).text);
    const evil = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<title>evil</title>');
    });
    own.after(() => evil.close());
    evil.listen(0, '127.0.0.1');
    await once(evil, 'listening');
    const { port } = evil.address() as AddressInfo;
    const elsewhere = await context.newPage();
    // The same site on another port, which the cookie is sent from, and another site.
    for (const origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`]) {
      await elsewhere.goto(origin);
      const sent = await elsewhere.evaluate(async (url) => {
        const post = { method: 'POST', mode: 'no-cors', credentials: 'include' } as const;
        const responses = await Promise.allSettled([
          fetch(`${url}/v1/tokens`, { ...post, body: '{"name":"evil","scopes":["admin"]}' }),
          fetch(`${url}/v1/pool/refresh`, post),
          fetch(`${url}/v1/session`, { ...post, body: '{"token":"x"}' }),
          fetch(`${url}/v1/tokens`, { credentials: 'include' }),
          fetch(`${url}/v1/tokens`, { mode: 'no-cors', credentials: 'include' }),
        ]);
        return responses.map((each) => (each.status === 'fulfilled' ? each.value.type : 'refused'));
      }, entrance.url);
      assert.deepEqual(sent.slice(0, 4), ['opaque', 'opaque', 'opaque', 'refused'], origin);
      const form = `<form method="post" action="${entrance.url}/v1/session"><button>Go</button></form>`;
      await elsewhere.setContent(form);
      await elsewhere.getByRole('button').click();
      await elsewhere.getByText('CROSS_ORIGIN').waitFor();
    }
    assert.notEqual(await user(), null, 'the session is as it was');
    assert.ok(!(await tokens.list()).some(({ name }) => name === 'evil'));
  });
});

test('a provider that cannot be reached stops neither the start nor logins with a token', async () => {
  const gone = await TestIdentityProvider.start('http://127.0.0.1/login/oidc/callback');
  await gone.stop();
  const heddle = await startHeddle({
    flags: {
      HEDDLE_REQUIRE_TOKENS: '1',
      HEDDLE_OIDC_ISSUER: gone.issuer,
      HEDDLE_OIDC_CLIENT_ID: CLIENT_ID,
      HEDDLE_OIDC_ROLES: ROLES,
    },
    scopes: ['read'],
  });
  try {
    const answer = await page.goto(`${heddle.url}/login/oidc`);
    assert.equal(answer!.status(), 503);
    await page.getByRole('heading', { name: 'The identity provider cannot be used' }).waitFor();
    await page.getByText(`${gone.issuer} cannot be used: ECONNREFUSED`).waitFor();
    await page.getByRole('link', { name: 'Log in another way' }).click();
    await page.getByLabel('Token').fill(heddle.token!);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await loggedIn(page);
  } finally {
    await heddle.stop();
  }
});
