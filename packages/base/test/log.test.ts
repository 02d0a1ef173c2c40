import assert from 'node:assert/strict';
import { test } from 'node:test';

import { HeddleError } from '../src/errors.ts';
import { prettySink } from '../src/log-pretty.ts';
import { createLogger, levelFromRustLog, silentLogger, type Logger, type LogOptions } from '../src/log.ts';
import { threadMs } from '@heddle/test-support/processor-time';

function capture({
  pretty = false,
  color = false,
  ...options
}: Partial<LogOptions> & { pretty?: boolean; color?: boolean } = {}): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  const sink = { write: (line: string) => void lines.push(line) };
  const log = createLogger({
    level: 'debug',
    destination: pretty ? prettySink(sink, color) : sink,
    ...options,
  });
  return { log, lines };
}

test('each entry is one line of JSON with level, time, message and fields', () => {
  const { log, lines } = capture();
  log
    .child({ room: 'engine' })
    .child({ loop: 'sweep' })
    .warn({ tasks: 3, when: new Date(0), big: 2n }, 'slow\npass');
  assert.equal(lines.length, 1);
  assert.ok(lines[0]!.endsWith('}\n') && lines[0]!.indexOf('\n') === lines[0]!.length - 1);
  const { time, ...entry } = JSON.parse(lines[0]!) as Record<string, unknown>;
  assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  assert.deepEqual(entry, {
    level: 'warn',
    room: 'engine',
    loop: 'sweep',
    tasks: 3,
    when: '1970-01-01T00:00:00.000Z',
    big: '2',
    msg: 'slow\npass',
  });
});

test('entries below the level are left out', () => {
  for (const [level, count] of [
    ['debug', 4],
    ['info', 3],
    ['warn', 2],
    ['error', 1],
    ['silent', 0],
  ] as const) {
    const { log, lines } = capture({ level });
    for (const name of ['debug', 'info', 'warn', 'error'] as const) log[name]({}, name);
    assert.equal(lines.length, count, level);
  }
});

test('an error is written with its type, code, stack and cause, wherever it stands', () => {
  const { log, lines } = capture();
  const error = new HeddleError('CONFLICT', 'too late', { cause: new TypeError('inner') });
  log.error({ err: error, tried: [error] }, 'failed');
  const entry = JSON.parse(lines[0]!) as {
    err: Record<string, unknown> & { cause: Record<string, unknown> };
    tried: unknown[];
  };
  assert.equal(entry.err['type'], 'HeddleError');
  assert.equal(entry.err['message'], 'too late');
  assert.equal(entry.err['code'], 'CONFLICT');
  assert.match(String(entry.err['stack']), /log\.test\.ts/);
  assert.equal(entry.err.cause['type'], 'TypeError');
  assert.deepEqual(entry.tried[0], entry.err);
});

test('no secret reaches a line: by name at any depth, in addresses, in messages, in errors, in children', () => {
  for (const pretty of [false, true]) {
    const { log, lines } = capture({ pretty });
    const error = new Error('cannot reach postgres://heddle:s3cret-a@db/heddle');
    Object.assign(error, { config: { password: 's3cret-b' }, token: 's3cret-c' });
    log.child({ api_token: 's3cret-d', url: 'https://user:s3cret-e@host/x' }).info(
      {
        headers: { Authorization: 'Bearer s3cret-f', cookie: 's3cret-g', 'X-Api-Key': 's3cret-h', accept: '*/*' },
        list: [{ deep: { webhookSecret: 's3cret-i', signing_keys: ['s3cret-j'] } }],
        map: new Map([['password', 's3cret-k']]),
        handle: 'http://host/task/1?attempt=1&signature=s3cret-l',
        'webhook-signature': 'v1,s3cret-m',
        key: Buffer.from('s3cret-n'),
        err: error,
      },
      'called http://me:s3cret-o@host/?token=s3cret-p&page=2 with Bearer s3cret-q/abcdef== and whsec_s3cretr',
    );
    const line = lines.join('');
    assert.doesNotMatch(line, /s3cret|czNjcmV0/);
    assert.match(line, /page=2/);
    assert.match(line, /accept/);
    assert.match(line, /@host\/x/);
  }
});

test('innocent fields and addresses are left as they are', () => {
  const { log, lines } = capture();
  const fields = {
    tokens: 5,
    keyboard: 'x',
    key: 'tenant',
    url: 'http://host:80/a@b?page=1',
    mail: 'a@b.c',
    none: null,
  };
  log.info({ ...fields, password: null }, 'at 10:00 http://host/path and me@host');
  const entry = JSON.parse(lines[0]!) as Record<string, unknown>;
  for (const [name, value] of Object.entries(fields)) assert.deepEqual(entry[name], value);
  assert.equal(entry['password'], null);
  assert.equal(entry['msg'], 'at 10:00 http://host/path and me@host');
});

test('a cycle or a deep value does not break the line', () => {
  const { log, lines } = capture();
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  log.info({ cycle }, 'still written');
  assert.match(lines[0]!, /\[cut\].*still written/);
});

test('a long line is redacted in time that grows with its length only', () => {
  const { log, lines } = capture();
  const startedMs = threadMs();
  log.info({ a: 'x'.repeat(500_000), b: '://'.repeat(200_000), c: '?token'.repeat(100_000) }, 'long');
  assert.equal(lines.length, 1);
  assert.ok(threadMs() - startedMs < 2_000);
});

test('the pretty form is one line for people', () => {
  const { log, lines } = capture({ pretty: true });
  log.warn(
    { tasks: 3, name: 'two words', empty: '', nested: { a: 1 }, err: new Error('boom\nhere') },
    'slow\npass \u001b[2J',
  );
  assert.match(
    lines[0]!,
    /^\d\d:\d\d:\d\d\.\d{3} WARN {2}slow\\npass \\u001b\[2J {2}tasks=3 name="two words" empty="" nested=\{"a":1\} err="boom\\nhere"\n$/,
  );
  log.info({}, 'ready');
  assert.match(lines[1]!, / INFO {2}ready\n$/);
});

test('colours are there only where asked for', () => {
  const { log, lines } = capture({ pretty: true, color: true });
  log.error({ a: 1 }, 'red');
  assert.match(lines[0]!, /\u001b\[31mERROR\u001b\[0m red/);
});

test('the silent logger takes everything and says nothing', () => {
  silentLogger.child({ a: 1 }).error({}, 'nothing');
});

test('RUST_LOG texts map to a level', () => {
  for (const [text, level] of [
    ['', 'info'],
    ['info', 'info'],
    ['WARN', 'warn'],
    [' error ', 'error'],
    ['trace', 'debug'],
    ['off', 'silent'],
    ['task_runner=debug,actix=info', 'debug'],
    ['warn,task_runner=debug', 'debug'],
    ['task_runner=error,info', 'error'],
    ['warn,actix_web=trace', 'warn'],
    ['actix_web=debug', 'info'],
    ['task_runner', 'debug'],
    ['heddle=off', 'silent'],
    ['task_runner::workers=debug,task_runner=warn', 'debug'],
    ['info/foo.*bar', 'info'],
    ['task_runner[span{id=1}]=debug', 'debug'],
    ['nonsense', 'info'],
    ['task_runner=loud', 'info'],
    ['debug,hyper=off', 'debug'],
  ] as const) {
    assert.equal(levelFromRustLog(text), level, text);
  }
});
