import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import type { DnsRecord, DnsType } from '../../src/records.ts';
import { expandNames } from '../../src/dns/wordlist.ts';
import { type AuthoritativeServer, startAuthoritativeServer, ZONE } from '../support/dns/authoritative-server.ts';
import { numbered, scan } from '../support/dns/scanning.ts';

const NAMES = 100_000;
const MISSING = 'neither knotd nor nsd is installed (apt-get install knot)';

suite('against a real authoritative server', () => {
  let server: AuthoritativeServer | null;
  before(async () => {
    server = await startAuthoritativeServer(NAMES);
  });
  after(() => server?.close());

  test('finds each of 100,000 names with its own address', async (t) => {
    if (server === null) {
      t.skip(MISSING);
      return;
    }
    const { records } = await scan({ names: numbered(NAMES, ZONE), resolvers: [server.address] });
    assert.equal(records.length, NAMES);
    const wrong = records.filter(({ host, a }) => {
      const at = Number(/\d+/.exec(host)![0]);
      return a?.[0] !== `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`;
    });
    assert.deepEqual(wrong.slice(0, 3), []);
    t.diagnostic(`${server.software}: ${records.length} of ${NAMES}`);
  });

  test('reads every type as served, large answers over TCP', async (t) => {
    if (server === null) {
      t.skip(MISSING);
      return;
    }
    const { address } = server;
    const ask = async (name: string, type: DnsType): Promise<DnsRecord> => {
      const names = [name === '' ? ZONE : `${name}.${ZONE}`];
      return (await scan({ names, types: [type], resolvers: [address] })).records[0]!;
    };
    assert.deepEqual((await ask('ns', 'AAAA')).aaaa, ['::1']);
    assert.deepEqual((await ask('alias', 'CNAME')).cname, [`host1.${ZONE}`]);
    const alias = await ask('alias', 'A');
    assert.deepEqual([alias.cname, alias.a], [[`host1.${ZONE}`], ['10.0.0.1']]);
    assert.deepEqual((await ask('mail', 'MX')).mx, [{ preference: 10, exchange: `host2.${ZONE}` }]);
    assert.deepEqual((await ask('text', 'TXT')).txt, ['onetwo']);
    assert.deepEqual((await ask('', 'NS')).ns, [`ns.${ZONE}`]);
    assert.equal((await ask('', 'SOA')).soa![0]!.serial, 2024010101);
    const target = `host3.${ZONE}`;
    assert.deepEqual((await ask('_sip._tcp', 'SRV')).srv, [{ priority: 1, weight: 2, port: 5060, target }]);
    assert.deepEqual((await ask('caa', 'CAA')).caa, [{ flags: 0, tag: 'issue', value: 'ca.test' }]);
    assert.deepEqual((await ask('pointer', 'PTR')).ptr, [`host4.${ZONE}`]);
    const large = await ask('large', 'TXT');
    assert.equal(large.txt!.length, 200);
    assert.equal(large.tcp, true);
    assert.equal((await ask('gone', 'A')).status_code, 'NXDOMAIN');
    const elsewhere = await scan({ names: ['other.zone'], resolvers: [address] });
    assert.equal(elsewhere.records[0]!.status_code, 'REFUSED');
  });

  test('words find existing names and identify the wildcard', async (t) => {
    if (server === null) {
      t.skip(MISSING);
      return;
    }
    const names = expandNames([ZONE, `wild.${ZONE}`], ['host7', 'own', 'gone']);
    const { records } = await scan({ names, resolvers: [server.address], wildcards: true });
    const found = records.filter(({ a }) => a !== undefined).map(({ host, wildcard }) => `${host} ${wildcard}`);
    assert.deepEqual(found.sort(), [
      `gone.wild.${ZONE} true`,
      `host7.${ZONE} false`,
      `host7.wild.${ZONE} true`,
      `own.wild.${ZONE} false`,
    ]);
  });
});
