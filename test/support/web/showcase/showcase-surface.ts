/** What scans of a network would have found, stored by the kind that stores models. */
import type { Api } from '../api.ts';

const DAY_MS = 86_400_000;
const SHA256 = 'ab'.repeat(32);

const HOSTS = [
  { ip: '192.0.2.10', names: ['shop.example.com'], ports: [22, 80, 443] },
  { ip: '192.0.2.11', names: ['mail.example.com'], ports: [25] },
  { ip: '192.0.2.12', names: ['db.example.com'], ports: [22, 5432] },
];

const SERVICES = [
  { ip: '192.0.2.10', port: 22, protocol: 'tcp', names: [], banner: 'SSH-2.0-OpenSSH_9.6p1 Debian-4' },
  { ip: '192.0.2.10', port: 80, protocol: 'tcp', names: [] },
  { ip: '192.0.2.10', port: 443, protocol: 'tcp', names: [] },
  { ip: '192.0.2.11', port: 25, protocol: 'tcp', names: [], banner: '220 mail.example.com ESMTP Postfix' },
];

const TLS = {
  ...{ ip: '192.0.2.10', port: 443, sni: 'shop.example.com', tls_version: 'tls12' },
  ...{ cipher: 'ECDHE-RSA-AES128-GCM-SHA256', alpn: 'h2', certificate: SHA256, findings: ['weak_version'] },
};

const CERTIFICATE = {
  ...{ sha256: SHA256, subject_cn: 'shop.example.com', subject_an: ['shop.example.com', 'www.example.com'] },
  ...{ issuer_cn: 'Example CA', endpoints: ['192.0.2.10:443'], findings: [] },
  not_after: new Date(Date.now() + 9.5 * DAY_MS).toISOString(),
};

const NAMES = [{ name: 'shop.example.com', type: 'A', a: ['192.0.2.10'] }];

/** Stores two runs: in the second one, a program was updated and a port was closed. */
export async function makeSurface(api: Api): Promise<void> {
  const upsert = (model: string, key: string, items: readonly object[]) => ({
    kind: 'UpsertModels',
    input: { target: 'web shop', model, key, items, complete: true },
  });
  const run = (services: readonly object[]) => [
    upsert('host', 'item.ip', HOSTS),
    upsert('service', `item.ip + ':' + string(int(item.port)) + '/tcp'`, services),
    upsert('tls', `item.ip + ':' + string(int(item.port)) + '/' + item.sni`, [TLS]),
    upsert('certificate', 'item.sha256', [CERTIFICATE]),
    upsert('name', `item.name + '/' + item.type`, NAMES),
  ];
  const [ssh, ...others] = SERVICES;
  const closed = { ip: '192.0.2.10', port: 8080, protocol: 'tcp', names: [] };
  const before = [{ ...ssh, banner: 'SSH-2.0-OpenSSH_9.2p1 Debian-2' }, closed, ...others];
  const children = [...run(before), ...run(SERVICES)];
  await api.post('/v1/workflows', { name: 'network scan', root: { mode: 'sequential', children } });
}
