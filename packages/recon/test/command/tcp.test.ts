import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';

import { ended } from '@heddle/test-support/cli/command-process';
import { reconSurroundings, recordsOf } from '../support/command/fixture.ts';

const near = reconSurroundings();

describe('tcp', () => {
  test('--json: open ports, one record a line, and nothing else on standard output', async () => {
    const ports = `${near.web.port},${near.greeter.port},1`;
    const ran = await near.tcp('127.0.0.1', '--ports', ports, '--json', '--banner');
    assert.equal(ran.code, 0);
    const found = recordsOf(ran).map(({ port, state, banner }) => [port, state, banner]);
    assert.deepEqual(
      found.sort(([one], [other]) => Number(one) - Number(other)),
      [
        [near.web.port, 'open', undefined],
        [near.greeter.port, 'open', '220 ready\\x1b[2J\\r\\n'],
      ].sort(([one], [other]) => Number(one) - Number(other)),
    );
    assert.match(ran.stderr, /^3 ports in [\d.]+ s: 2 open, \d+ packets\n$/);
  });

  test('--json-style projectdiscovery: lines of naabu, open ports only', async () => {
    const style = ['--json-style', 'projectdiscovery'];
    const [ran, refused] = await Promise.all([
      near.tcp(
        'www.example.test',
        '--scope',
        'example.test',
        '--resolvers',
        near.names.address,
        ...style,
        '-p',
        `${near.web.port},1`,
      ),
      near.tcp('127.0.0.1', ...style, '-p', '1', '--all-states'),
    ]);
    const [line, ...others] = ran.stdout
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each) as Record<string, unknown>);
    assert.deepEqual(others, []);
    const { timestamp, ...members } = line!;
    const expected = { host: 'www.example.test', ip: '127.0.0.1', port: near.web.port, protocol: 'tcp', tls: false };
    assert.deepEqual(members, expected);
    assert.match(String(timestamp), /^\d{4}-/);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /no member for the state of a port; remove --all-states/);
  });

  test('reports that the rate per host is the limit; one option lifts both', async () => {
    const ports = ['127.0.0.1', '-p', String(near.web.port), '--json'];
    const [bounded, both, hostOnly, plain, quiet] = await Promise.all([
      near.tcp(...ports, '--rate', '0'),
      near.tcp(...ports, '--unlimited'),
      near.tcp(...ports, '--unlimited', '--host-rate', '50'),
      near.tcp(...ports),
      near.tcp(...ports, '--rate', '0', '--quiet'),
    ]);
    assert.match(bounded.stderr, /^limited to 1,000\/s to one host by --host-rate; --unlimited/);
    assert.match(hostOnly.stderr, /^limited to 50\/s to one host by --host-rate/);
    for (const { stderr } of [both, plain, quiet]) assert.doesNotMatch(stderr, /limited to/);
  });

  test('a table otherwise; closed ports with --all-states; hosts with their own ports, URLs, and lists', async () => {
    near.directory.write(
      'hosts.txt',
      `# what is ours\n127.0.0.1:${near.web.port}\n\nhttp://127.0.0.1:${near.greeter.port}/path # greets\n`,
    );
    const ran = await near.tcp('-l', 'hosts.txt', '127.0.0.1', '-p', '1', '--all-states', '--quiet');
    assert.equal(ran.code, 0);
    assert.equal(ran.stderr, '');
    assert.match(ran.lines[0]!, /^ADDRESS +STATE +REASON +METHOD +RTT +NAME$/);
    const rows = ran.lines.slice(1).map((line) => line.split(/ +/).slice(0, 4));
    assert.deepEqual(
      rows.sort(),
      [
        ['127.0.0.1:1', 'closed', 'refused', 'connect'],
        [`127.0.0.1:${near.greeter.port}`, 'open', 'connected', 'connect'],
        [`127.0.0.1:${near.web.port}`, 'open', 'connected', 'connect'],
      ].sort(),
    );
  });

  test('targets from standard input, minus exclusions', async () => {
    near.directory.write('not.txt', '127.0.0.3\n');
    const args = ['--method', 'connect', '--json', '-p', String(near.web.port), '--all-states'];
    const ran = await near.directory.recon(
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

  test('names are resolved by the given resolvers; their addresses are checked before anything is sent', async () => {
    const ran = await near.tcp(
      'www.example.test',
      'trap.example.test',
      'gone.example.test',
      'other.test',
      '--scope',
      'example.test',
      '--resolvers',
      near.names.address,
      '-p',
      String(near.web.port),
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
    assert.equal(told[2], 'refused: no entry of the scope covers other.test; add it, or a domain that contains it');
    assert.match(
      told[3]!,
      /^refused: trap\.example\.test resolves to 169\.254\.169\.254: .* is a metadata service of clouds/,
    );
    assert.ok(
      !near.names.queries.some(({ name }) => name === 'other.test'),
      'what is out of scope is not even asked for',
    );
  });

  test('a name is probed at the first of its addresses that is allowed, with --all-addresses at each', async () => {
    const args = ['many.example.test', '--scope', 'example.test', '--resolvers', near.names.address, '-p', '1'];
    const addresses = async (...more: string[]): Promise<unknown[]> => {
      const ran = await near.tcp(...args, '--all-states', '--json', ...more);
      assert.equal(ran.code, 0, ran.stderr);
      return recordsOf(ran)
        .map(({ ip }) => ip)
        .sort();
    };
    assert.deepEqual(await addresses(), ['127.0.0.2']);
    assert.deepEqual(await addresses('--all-addresses'), ['127.0.0.1', '127.0.0.2']);
    const plan = await near.tcp(...args, '--all-addresses', '--dry-run', '--json');
    assert.equal(plan.json[0]!['endpoints'], 16, 'the number is not known in advance: at most sixteen');
  });

  test('an empty list is reported; it is not an error', async () => {
    near.directory.write('empty.txt', '# nothing\n');
    const ran = await near.tcp('-l', 'empty.txt');
    assert.deepEqual([ran.code, ran.stdout], [0, '']);
    assert.match(ran.stderr, /^nothing is left to probe: the lists are empty/);
  });

  test('the same seed gives the same order', async () => {
    const order = async (seed: string): Promise<string> => {
      const ran = await near.tcp(
        '127.0.0.1-4',
        '-p',
        '1-9',
        '--all-states',
        '--json',
        '--concurrency',
        '1',
        '--seed',
        seed,
      );
      return recordsOf(ran)
        .map(({ ip, port }) => `${String(ip)}:${String(port)}`)
        .join();
    };
    const [one, again, other] = await Promise.all([order('1'), order('1'), order('2')]);
    assert.equal(one.split(',').length, 36);
    assert.equal(again, one);
    assert.notEqual(other, one);
  });

  test('the rate is kept', async () => {
    const startMs = performance.now();
    const ran = await near.tcp('127.0.0.1', '-p', '1-40', '--rate', '20', '--json');
    assert.equal(ran.code, 0);
    assert.ok(performance.now() - startMs >= 1900, 'forty packets at twenty a second take two seconds');
  });

  test('Ctrl-C ends it with 130 and explains how to continue; the records so far are complete lines', async () => {
    const child = near.directory.probe(
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

  test('a closed reader ends it', async () => {
    const child = near.directory.probe(
      'tcp',
      '--method',
      'connect',
      '127.0.0.0/16',
      '-p',
      'all',
      '--json',
      '--all-states',
    );
    const closed = once(child, 'close');
    await Promise.race([once(child.stdout!, 'data'), closed]);
    child.stdout!.destroy();
    assert.deepEqual(await closed, [3, null]);
  });
});
