import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';

import { Compile } from 'typebox/schema';

import { ReconRecordSchema } from '../../src/recon/record-schema.ts';
import { makeCertificate } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { reply, startNameServer, type NameServer } from '../support/name-server.ts';
import { serveTls } from '../support/tls-servers.ts';
import { listening, ReconDirectory, type Listening } from './recon-process.ts';
import { ended, type Scanned } from './scan-process.ts';

const record = Compile(JSON.parse(JSON.stringify(ReconRecordSchema)) as typeof ReconRecordSchema);

let directory: ReconDirectory;
let web: Listening;
let greeter: Listening;
let names: NameServer;

before(async () => {
  directory = new ReconDirectory({});
  [web, greeter] = await Promise.all([listening(), listening('220 ready\u001b[2J\r\n')]);
  const zone: Record<string, string> = {
    'example.test': '127.0.0.1',
    'www.example.test': '127.0.0.1',
    'trap.example.test': '169.254.169.254',
    'far.example.test': '8.8.8.8',
  };
  names = await startNameServer((query) => {
    const data = zone[query.name];
    const inWild = query.name.endsWith('.wild.test');
    if (query.type === 'A' && (data !== undefined || inWild)) {
      return [reply(query, { answers: [{ type: 'A', name: query.name, ttl: 60, data: data ?? '127.0.0.9' }] })];
    }
    if (query.type === 'PTR') {
      return [reply(query, { answers: [{ type: 'PTR', name: query.name, ttl: 60, data: 'www.example.test' }] })];
    }
    return [reply(query, { rcode: data === undefined && !inWild ? 'NXDOMAIN' : 'NOERROR' })];
  });
});

after(async () => {
  await Promise.all([web[Symbol.asyncDispose](), greeter[Symbol.asyncDispose](), names.close()]);
  directory.remove();
});

const tcp = (...args: string[]): Promise<Scanned> => directory.recon(['tcp', '--method', 'connect', ...args]);

/** Records of standard output: every line must be one. */
function recordsOf({ lines }: Scanned): Record<string, unknown>[] {
  return lines.map((line) => {
    const read = JSON.parse(line) as Record<string, unknown>;
    assert.ok(record.Check(read), line);
    return read;
  });
}

describe('tcp', () => {
  test('--json: open ports, one record a line, and nothing else on standard output', async () => {
    const ports = `${web.port},${greeter.port},1`;
    const ran = await tcp('127.0.0.1', '--ports', ports, '--json', '--banner');
    assert.equal(ran.code, 0);
    const found = recordsOf(ran).map(({ port, state, banner }) => [port, state, banner]);
    assert.deepEqual(
      found.sort(([one], [other]) => Number(one) - Number(other)),
      [
        [web.port, 'open', undefined],
        [greeter.port, 'open', '220 ready\\x1b[2J\\r\\n'],
      ].sort(([one], [other]) => Number(one) - Number(other)),
    );
    assert.match(ran.stderr, /^3 ports in [\d.]+ s: 2 open, \d+ packets\n$/);
  });

  test('a table otherwise; closed ports with --all-states; hosts with their own ports, URLs, and lists', async () => {
    directory.write(
      'hosts.txt',
      `# what is ours\n127.0.0.1:${web.port}\n\nhttp://127.0.0.1:${greeter.port}/path # greets\n`,
    );
    const ran = await tcp('-l', 'hosts.txt', '127.0.0.1', '-p', '1', '--all-states', '--quiet');
    assert.equal(ran.code, 0);
    assert.equal(ran.stderr, '');
    assert.match(ran.lines[0]!, /^ADDRESS +STATE +REASON +METHOD +RTT +NAME$/);
    const rows = ran.lines.slice(1).map((line) => line.split(/ +/).slice(0, 4));
    assert.deepEqual(
      rows.sort(),
      [
        ['127.0.0.1:1', 'closed', 'refused', 'connect'],
        [`127.0.0.1:${greeter.port}`, 'open', 'connected', 'connect'],
        [`127.0.0.1:${web.port}`, 'open', 'connected', 'connect'],
      ].sort(),
    );
  });

  test('targets from standard input, less what is excluded', async () => {
    directory.write('not.txt', '127.0.0.3\n');
    const args = ['--method', 'connect', '--json', '-p', String(web.port), '--all-states'];
    const ran = await directory.recon(
      ['tcp', '-l', '-', '--exclude', '127.0.0.2', '--exclude', 'not.txt', ...args],
      '127.0.0.1-4\n',
    );
    assert.equal(ran.code, 0);
    assert.deepEqual(
      recordsOf(ran)
        .map(({ ip, state }) => `${String(ip)} ${String(state)}`)
        .sort(),
      ['127.0.0.1 open', '127.0.0.4 closed'],
    );
  });

  test('names go to the resolvers that were given; what they lead to is checked before anything is sent', async () => {
    const ran = await tcp(
      'www.example.test',
      'trap.example.test',
      'gone.example.test',
      'other.test',
      '--scope',
      'example.test',
      '--resolvers',
      names.address,
      '-p',
      String(web.port),
      '--json',
    );
    assert.equal(ran.code, 3);
    assert.deepEqual(
      recordsOf(ran).map(({ host, ip }) => [host, ip]),
      [['www.example.test', '127.0.0.1']],
    );
    const told = ran.stderr.trimEnd().split('\n').sort();
    assert.equal(told.length, 4);
    assert.match(told[0]!, /^1 port in/);
    assert.equal(told[1], 'not probed: gone.example.test has no address');
    assert.equal(told[2], 'refused: no line of the scope covers other.test; a line that says other.test allows it');
    assert.match(
      told[3]!,
      /^refused: trap\.example\.test resolves to 169\.254\.169\.254: .* is a metadata service of clouds/,
    );
    assert.ok(!names.queries.some(({ name }) => name === 'other.test'), 'what is out of scope is not even asked for');
  });

  test('the same seed gives the same order', async () => {
    const order = async (seed: string): Promise<string> => {
      const ran = await tcp('127.0.0.1-4', '-p', '1-9', '--all-states', '--json', '--concurrency', '1', '--seed', seed);
      return recordsOf(ran)
        .map(({ ip, port }) => `${String(ip)}:${String(port)}`)
        .join();
    };
    const [one, again, other] = await Promise.all([order('1'), order('1'), order('2')]);
    assert.equal(one.split(',').length, 36);
    assert.equal(again, one);
    assert.notEqual(other, one);
  });

  test('the rate holds', async () => {
    const startMs = performance.now();
    const ran = await tcp('127.0.0.1', '-p', '1-40', '--rate', '20', '--json');
    assert.equal(ran.code, 0);
    assert.ok(performance.now() - startMs >= 1900, 'forty packets at twenty a second take two seconds');
  });

  test('Ctrl-C ends it with 130, and says how to go on; the records so far are whole lines', async () => {
    const child = directory.probe(
      ...['tcp', '--method', 'connect', '127.0.0.0/16', '-p', 'all', '--json', '--all-states'],
    );
    const running = ended(child);
    await Promise.race([once(child.stdout!, 'data'), running]);
    child.kill('SIGINT');
    const ran = await running;
    assert.equal(ran.code, 130);
    assert.match(ran.stderr, /Interrupted after \d+ of \d+; --seed \d+ gives the same order\.\n$/);
    assert.ok(recordsOf(ran).length > 0);
  });

  test('a reader that goes away ends it', async () => {
    const child = directory.probe('tcp', '--method', 'connect', '127.0.0.0/16', '-p', 'all', '--json', '--all-states');
    const closed = once(child, 'close');
    await Promise.race([once(child.stdout!, 'data'), closed]);
    child.stdout!.destroy();
    assert.deepEqual(await closed, [3, null]);
  });
});

describe('scope', () => {
  test('what is neither loopback nor private is refused, with the line that would allow it; 2 where nothing else is left', async () => {
    const ran = await tcp('8.8.8.8', '--json');
    assert.deepEqual([ran.code, ran.stdout], [2, '']);
    assert.equal(
      ran.stderr,
      'refused: no line of the scope covers 8.8.8.8; a line that says 8.8.8.8, or names a network that it is in, allows it\n',
    );
  });

  test('3 where something else was probed; many refusals are counted', async () => {
    const many = Array.from({ length: 30 }, (_, index) => `8.8.${index}.8`);
    const ran = await tcp('127.0.0.1', ...many, '-p', String(web.port), '--json');
    assert.equal(ran.code, 3);
    assert.equal(recordsOf(ran).length, 1);
    assert.equal(ran.stderr.match(/^refused: /gm)?.length, 20);
    assert.match(ran.stderr, /^and 10 more of these$/m);
  });

  test('a name that resolves to what is not allowed is refused, and alone ends with 2', async () => {
    const ran = await tcp('far.example.test', '--scope', '8.8.4.4', '--resolvers', names.address);
    assert.equal(ran.code, 2);
    const trap = await tcp('trap.example.test', '--scope', 'example.test', '--resolvers', names.address);
    assert.equal(trap.code, 2);
    assert.match(trap.stderr, /refused: trap\.example\.test resolves to 169\.254\.169\.254/);
  });

  test('files and entries; a file of the name goes first', async () => {
    directory.write('scope.txt', '# ours\n203.0.113.0/24 # documentation\nexample.test\n');
    const plan = (...args: string[]): Promise<Scanned> => tcp('203.0.113.7', '--dry-run', '--json', ...args);
    const ran = await Promise.all([
      plan(),
      plan('--scope', 'scope.txt'),
      plan('--scope', '@scope.txt'),
      plan('--scope', '203.0.113.7'),
    ]);
    assert.deepEqual(
      ran.map(({ code, json }) => [code, json[0]!['targets'], json[0]!['refused']]),
      [
        [2, 0, 1],
        [0, 1, 0],
        [0, 1, 0],
        [0, 1, 0],
      ],
    );
    directory.write('wrong.txt', 'example.test\n10.0.0.5/24\n');
    const wrong = await plan('--scope', 'wrong.txt');
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /^heddle: wrong\.txt:2: "10\.0\.0\.5\/24" is an address within a network/);
  });
});

describe('dry runs', () => {
  test('say what would be sent, and how long it would take; nothing is sent', async () => {
    const before = web.accepted;
    const args = ['127.0.0.1', '-p', String(web.port), '--seed', '7', '--dry-run'];
    const [text, json] = await Promise.all([
      tcp(...args),
      tcp('10.0.0.0/24', '-p', 'top-100', '--rate', '500', '--dry-run', '--json'),
    ]);
    assert.equal(text.code, 0);
    assert.deepEqual(
      text.lines.map((line) => line.split(/ {2,}/)),
      [
        ['targets', '1'],
        ['ports of each', '1'],
        ['ports', '1'],
        ['packets', 'at most 4'],
        ['rate', '1,000/s, 1,000/s to one host'],
        ['time', 'at most 0.0 s'],
        ['seed', '7'],
        ['nothing was sent'],
      ],
    );
    assert.deepEqual(
      { ...json.json[0], seed: 0 },
      {
        type: 'plan',
        probe: 'tcp',
        targets: 256,
        refused: 0,
        ports: 100,
        endpoints: 25_600,
        packets_max: 102_400,
        duration_secs_max: 204.8,
        rate: 500,
        host_rate: 1000,
        seed: 0,
      },
    );
    assert.equal(web.accepted, before);
  });

  test('of names count words and types; the longest of the rates decides', async () => {
    directory.write('words.txt', 'www\n\n# comment\nmail\n');
    const args = [
      'dns',
      'example.test',
      '10.0.0.1',
      '--scope',
      'example.test',
      '--types',
      'A,MX',
      '--dry-run',
      '--json',
    ];
    const [dns, host, stdin] = await Promise.all([
      directory.recon([...args, '--wordlist', 'words.txt', '--retries', '1']),
      tcp('127.0.0.1', '-p', 'all', '--rate', '0', '--host-rate', '1000', '--retries', '0', '--dry-run', '--json'),
      directory.recon([...args, '--wordlist', '-'], 'www\n'),
    ]);
    assert.deepEqual([dns.json[0]!['endpoints'], dns.json[0]!['packets_max']], [7, 14]);
    assert.deepEqual([host.json[0]!['duration_secs_max'], host.json[0]!['rate']], [65.535, null]);
    assert.deepEqual([stdin.json[0]!['endpoints'], stdin.code], [null, 0]);
  });

  test('of TLS endpoints count every suite that may be asked for', async () => {
    const plan = async (...args: string[]): Promise<unknown> => {
      const ran = await directory.recon(['tls', '10.0.0.1', '--dry-run', '--json', ...args]);
      return ran.json[0]!['packets_max'];
    };
    const [plain, versions, all] = await Promise.all([plan(), plan('--versions'), plan('--versions', '--ciphers')]);
    assert.deepEqual([plain, versions], [3, 8]);
    assert.ok(Number(all) > 300, String(all));
  });
});

describe('dns', () => {
  const dns = (...args: string[]): Promise<Scanned> =>
    directory.recon(['dns', '--resolvers', names.address, '--scope', 'example.test,wild.test', ...args]);

  test('names by type, addresses backwards; a table, or records', async () => {
    const ran = await dns('www.example.test', 'nothing.example.test', '127.0.0.1', '--types', 'A', '--json');
    assert.equal(ran.code, 0);
    assert.deepEqual(
      recordsOf(ran)
        .map(({ host, query_type, status_code, a, ptr }) => [host, query_type, status_code, a ?? ptr])
        .sort(),
      [
        ['127.0.0.1', 'PTR', 'NOERROR', ['www.example.test']],
        ['nothing.example.test', 'A', 'NXDOMAIN', undefined],
        ['www.example.test', 'A', 'NOERROR', ['127.0.0.1']],
      ],
    );
    const table = await dns('www.example.test', '--types', 'A');
    assert.deepEqual(
      table.lines.map((line) => line.split(/ {2,}/)),
      [
        ['NAME', 'TYPE', 'STATUS', 'TTL', 'ANSWER'],
        ['www.example.test', 'A', 'NOERROR', '60', '127.0.0.1'],
      ],
    );
    assert.match(table.stderr, /^1 name in .*: 1 answer, 1 query\n$/);
  });

  test('a list of words: what exists, without what only a wildcard answers', async () => {
    directory.write('words.txt', 'www\nnope\n# comment\nmail\n');
    const args = ['example.test', 'wild.test', '--types', 'A', '--wordlist', 'words.txt', '--json'];
    const [found, all] = await Promise.all([dns(...args), dns(...args, '--all-states')]);
    const hosts = (ran: Scanned): unknown[] =>
      recordsOf(ran).map(({ host, wildcard }) => (wildcard === true ? `*${String(host)}` : host));
    assert.deepEqual(hosts(found).sort(), ['example.test', 'wild.test', 'www.example.test']);
    assert.deepEqual(hosts(all).sort(), [
      '*mail.wild.test',
      '*nope.wild.test',
      '*www.wild.test',
      'example.test',
      'mail.example.test',
      'nope.example.test',
      'wild.test',
      'www.example.test',
    ]);
  });

  test('words from standard input', async () => {
    const args = ['dns', 'example.test', '--resolvers', names.address, '--scope', 'example.test', '--types', 'A'];
    const ran = await directory.recon([...args, '--wordlist', '-', '--json'], 'www\nnope\n');
    assert.equal(ran.code, 0);
    assert.deepEqual(
      recordsOf(ran)
        .map(({ host }) => host)
        .sort(),
      ['example.test', 'www.example.test'],
    );
  });

  test('a reader that does not read stops the sending; when he does, it goes on, and nothing is missing or doubled', async () => {
    const args = ['dns', '127.0.0.0/17', '--resolvers', names.address, '--rate', '0', '--host-rate', '0', '--json'];
    const before = names.queries.length;
    const child = directory.probe(...args);
    let [asked, since] = [0, performance.now()];
    const isQuiet = (): boolean => {
      const now = names.queries.length - before;
      if (now !== asked) [asked, since] = [now, performance.now()];
      return asked > 0 && performance.now() - since > 500;
    };
    await eventually(isQuiet, 'no more queries come');
    assert.ok(asked < 25_000, `${asked} of 32,768 queries were sent to a reader that was not there`);
    const running = ended(child);
    await eventually(() => names.queries.length - before > asked + 500, 'it goes on');
    child.kill('SIGINT');
    const ran = await running;
    const hosts = recordsOf(ran).map(({ host }) => host);
    assert.equal(ran.code, 130);
    assert.ok(
      hosts.length >= asked - 4096,
      `${hosts.length} records of ${asked} queries, 4,096 of them under way at most`,
    );
    assert.equal(new Set(hosts).size, hosts.length);
  });

  test('a name out of scope is not asked for', async () => {
    const ran = await dns('other.example');
    assert.equal(ran.code, 2);
    assert.match(ran.stderr, /refused: no line of the scope covers other\.example/);
    assert.ok(!names.queries.some(({ name }) => name.endsWith('other.example')));
  });
});

describe('tls', () => {
  test('certificates with their names and what is wrong with them; versions; a port that speaks no TLS', async (t) => {
    const certificate = await makeCertificate({ name: 'www.example.test' });
    const server = await serveTls(t, [certificate]);
    directory.write('roots.pem', certificate.pem);
    const targets = [`www.example.test:${server.port}`, `127.0.0.1:${greeter.port}`];
    const args = [...targets, '--scope', 'example.test', '--resolvers', names.address];
    const [json, table] = await Promise.all([
      directory.recon(['tls', ...args, '--json', '--versions']),
      directory.recon(['tls', ...args, '--roots', 'roots.pem']),
    ]);
    assert.equal(json.code, 0);
    const [good, bad] = recordsOf(json).sort((one) => (one['probe_status'] === true ? -1 : 1));
    assert.equal(good!['sni'], 'www.example.test');
    assert.deepEqual(good!['version_enum'], ['tls13', 'tls12']);
    assert.deepEqual(good!['findings'], ['self_signed', 'untrusted']);
    assert.match(String(bad!['error']), /TLS/);
    assert.match(json.stderr, /^2 endpoints in .*: 1 handshake, \d+ connections\n$/);
    assert.match(table.lines[0]!, /^ADDRESS +VERSION +CIPHER +NOT AFTER +NAMES +FINDINGS$/);
    assert.ok(
      table.lines.some((line) => / tls13 .* www\.example\.test/.test(line) && !line.includes('untrusted')),
      table.stdout,
    );
  });
});

describe('nonsense', () => {
  const faults: [args: string[], fault: RegExp][] = [
    [['tcp'], /^heddle: name at least one target/],
    [['tcp', '10.0.0.300'], /^heddle: TARGET: "10\.0\.0\.300" is no IPv4 address: 300 is larger than 255\n$/],
    [['tcp', '127.0.0.1', '-p', '0'], /^heddle: ports: "0" is no port/],
    [['tcp', '127.0.0.1', '-l', 'nowhere'], /^heddle: -l nowhere: there is no such file or directory\n$/],
    [['tcp', '127.0.0.1', '--rate', 'fast'], /^error: option '--rate <count>' argument 'fast' is invalid/],
    [['tcp', 'fd00::/32'], /hosts, and at most 2\^53 can be counted/],
    [['tcp', 'fd00::/76', '-p', 'all'], /endpoints are more than the 2\^53/],
    [['tcp', '127.0.0.1', '--exclude', '127.0.0.1:80'], /^heddle: --exclude: "127\.0\.0\.1:80" names a port/],
    [['dns', 'a.test', '--types', 'A,HINFO', '--scope', 'a.test'], /HINFO is none of A, /],
    [
      ['dns', 'a.test', '--wordlist', 'nowhere', '--scope', 'a.test'],
      /^heddle: --wordlist nowhere: there is no such file/,
    ],
    [['dns', '-l', '-', '--wordlist', '-'], /^heddle: standard input can be read once/],
    [['dns', 'a.test', '--resolvers', 'nobody', '--scope', 'a.test'], /nobody/],
    [['tls', '127.0.0.1', '--roots', 'nowhere'], /^heddle: --roots nowhere: there is no such file/],
    [['tls', '127.0.0.1', '--starttls', 'pop3'], /Allowed choices are auto, off, smtp, imap, ftp/],
    [['udp', '127.0.0.1'], /unknown command 'udp'/],
  ];
  for (const [args, fault] of faults) {
    test(args.join(' '), async () => {
      const ran = await directory.recon(args);
      assert.deepEqual([ran.code, ran.stdout], [2, '']);
      assert.match(ran.stderr, fault);
      assert.doesNotMatch(ran.stderr, /\n +at /, 'no stack');
    });
  }
});
