import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { reconSurroundings } from '../support/command/fixture.ts';

const near = reconSurroundings();

describe('dry runs', () => {
  test('report what would be sent and how long it would take; nothing is sent', async () => {
    const before = near.web.accepted;
    const args = ['127.0.0.1', '-p', String(near.web.port), '--seed', '7', '--dry-run'];
    const [text, json] = await Promise.all([
      near.tcp(...args),
      near.tcp('10.0.0.0/24', '-p', 'top-100', '--rate', '500', '--dry-run', '--json'),
    ]);
    assert.equal(text.code, 0);
    assert.deepEqual(
      text.lines.map((line) => line.split(/ {2,}/)),
      [
        ['targets', '1'],
        ['ports each', '1'],
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
    assert.equal(near.web.accepted, before);
  });

  test('of names count words and types; the lowest rate decides', async () => {
    near.directory.write('words.txt', 'www\n\n# comment\nmail\n');
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
      near.directory.recon([...args, '--wordlist', 'words.txt', '--retries', '1']),
      near.tcp('127.0.0.1', '-p', 'all', '--rate', '0', '--host-rate', '1000', '--retries', '0', '--dry-run', '--json'),
      near.directory.recon([...args, '--wordlist', '-'], 'www\n'),
    ]);
    assert.deepEqual([dns.json[0]!['endpoints'], dns.json[0]!['packets_max']], [7, 14]);
    assert.deepEqual([host.json[0]!['duration_secs_max'], host.json[0]!['rate']], [65.535, null]);
    assert.deepEqual([stdin.json[0]!['endpoints'], stdin.code], [null, 0]);
  });

  test('of TLS endpoints count every suite that may be tested', async () => {
    const plan = async (...args: string[]): Promise<unknown> => {
      const ran = await near.directory.recon(['tls', '10.0.0.1', '--dry-run', '--json', ...args]);
      return ran.json[0]!['packets_max'];
    };
    const [plain, versions, all] = await Promise.all([plan(), plan('--versions'), plan('--versions', '--ciphers')]);
    assert.deepEqual([plain, versions], [3, 8]);
    assert.ok(Number(all) > 300, String(all));
  });
});

describe('invalid arguments', () => {
  const faults: [args: string[], fault: RegExp][] = [
    [['tcp'], /^error\[(USAGE|FAILED)\]: name at least one target/],
    [
      ['tcp', '10.0.0.300'],
      /^error\[(USAGE|FAILED)\]: TARGET: "10\.0\.0\.300" is not an IPv4 address: 300 is larger than 255\n$/,
    ],
    [['tcp', '127.0.0.1', '-p', '0'], /^error\[(USAGE|FAILED)\]: ports: "0" is not a port/],
    [['tcp', '127.0.0.1', '-l', 'nowhere'], /^error\[(USAGE|FAILED)\]: -l nowhere: no such file or directory\n$/],
    [['tcp', '127.0.0.1', '--rate', 'fast'], /^error\[USAGE\]: option '--rate <count>' argument 'fast' is invalid/],
    [['tcp', 'fd00::/32'], /hosts, and at most 2\^53 can be counted/],
    [['tcp', 'fd00::/76', '-p', 'all'], /endpoints are more than the 2\^53/],
    [
      ['tcp', '127.0.0.1', '--exclude', '127.0.0.1:80'],
      /^error\[(USAGE|FAILED)\]: --exclude: "127\.0\.0\.1:80" names a port/,
    ],
    [['dns', 'a.test', '--types', 'A,HINFO', '--scope', 'a.test'], /'A,HINFO' is invalid\. It must be a list of A, /],
    [
      ['dns', 'a.test', '--wordlist', 'nowhere', '--scope', 'a.test'],
      /^error\[(USAGE|FAILED)\]: --wordlist nowhere: no such file/,
    ],
    [['dns', '-l', '-', '--wordlist', '-'], /^error\[(USAGE|FAILED)\]: standard input can be read only once/],
    [['tls', '127.0.0.1', '--roots', 'nowhere'], /^error\[(USAGE|FAILED)\]: --roots nowhere: no such file/],
    [['tls', '127.0.0.1', '--starttls', 'pop3'], /Allowed choices are auto, off, smtp, imap, ftp/],
    [['dns', 'a.test', '--resolvers', 'nobody', '--scope', 'a.test'], /must be an address with or without a port/],
    [
      ['tcp', '127.0.0.1', '--exclude', 'typo.txt'],
      /^error\[(USAGE|FAILED)\]: --exclude typo\.txt: no such file; write a domain/,
    ],
    [
      ['tcp', '127.0.0.1', '--scope', './typo'],
      /^error\[(USAGE|FAILED)\]: --scope \.\/typo: no such file; write a domain/,
    ],
    [['tcp', '127.0.0.1', '--rate', '-1'], /^error\[USAGE\]: option '--rate <count>' argument '-1' is invalid/],
    [['tcp', '127.0.0.1', '--host-rate', 'NaN'], /It must be a whole number between 0 and 10000000/],
    [['tcp', '127.0.0.1', '--rate', '99999999999999'], /It must be a whole number between 0 and 10000000/],
    [['tcp', '127.0.0.1', '--timeout', '1e999'], /It must be a duration between 1ms and 600s/],
    [['tcp', '127.0.0.1', '--seed', '1.5'], /It must be a whole number between 0 and 999999999999/],
    [['tcp', 'fe80::1%lo'], /has a zone id/],
    [['udp', '127.0.0.1'], /unknown command 'udp'/],
  ];
  for (const [args, fault] of faults) {
    test(args.join(' '), async () => {
      const ran = await near.directory.recon(args);
      assert.deepEqual([ran.code, ran.stdout], [2, '']);
      assert.match(ran.stderr, fault);
      assert.doesNotMatch(ran.stderr, /\n +at /, 'no stack');
    });
  }
});
