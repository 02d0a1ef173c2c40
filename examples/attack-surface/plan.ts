/**
 * The services of the example's network. Each generation differs a little from the previous one: one service added, one
 * gone, one certificate renewed, one banner with another version.
 */

export const ZONE = 'surface.test';
/** Scanned hosts, whether or not they have services. */
export const HOSTS = 20;
/** Scanned ports of each host. */
export const PORTS_A_HOST = 500;

/** Ports, relative to the first scanned one. */
const PORT = { ftp: 21, ssh: 22, smtp: 25, dns: 53, http: 80, https: 443, smtps: 465 } as const;

export type CertificateName = 'www' | 'api' | 'mail' | 'shop' | 'git' | 'vpn' | 'legacy';

export type Role =
  /** Sends a line to each connection. */
  | { readonly type: 'banner'; readonly line: string }
  | { readonly type: 'http'; readonly title: string }
  | { readonly type: 'tls'; readonly certificate: CertificateName }
  /** The name server of the zone, over UDP and TCP. */
  | { readonly type: 'names' };

export interface Service {
  /** From 1; 127.0.10.1 is the first, if the machine has such addresses. */
  readonly host: number;
  /** Relative to the first scanned port: 22 is 18022 if 18000 is the first. */
  readonly port: number;
  readonly role: Role;
}

const http = (host: number, title: string): Service => ({ host, port: PORT.http, role: { type: 'http', title } });
const https = (host: number, certificate: CertificateName): Service => ({
  host,
  port: PORT.https,
  role: { type: 'tls', certificate },
});
const ssh = (host: number, version = 'OpenSSH_9.9'): Service => ({
  host,
  port: PORT.ssh,
  role: { type: 'banner', line: `SSH-2.0-${version}` },
});

const LASTING: readonly Service[] = [
  http(1, 'Welcome'),
  https(1, 'www'),
  http(2, 'API'),
  https(2, 'api'),
  { host: 3, port: PORT.smtp, role: { type: 'banner', line: `220 mail.${ZONE} ESMTP ready` } },
  { host: 3, port: PORT.smtps, role: { type: 'tls', certificate: 'mail' } },
  http(4, 'Shop'),
  https(4, 'shop'),
  ssh(5),
  http(5, 'Repositories'),
  https(5, 'git'),
  ssh(6),
  https(6, 'vpn'),
  ssh(7, 'OpenSSH_7.4'),
  http(7, 'Intranet of 2009'),
  https(7, 'legacy'),
  { host: 8, port: PORT.dns, role: { type: 'names' } },
  ssh(9),
  ssh(10),
  ...[11, 12, 13].flatMap((host) => [ssh(host), http(host, `Node ${host - 10}`)]),
  http(14, 'Administration'),
  { host: 15, port: PORT.ftp, role: { type: 'banner', line: `220 ftp.${ZONE} FTP server ready` } },
];

/** One of these is up at a time. */
const PASSING: readonly Service[] = [http(16, 'Staging'), http(17, 'Preview'), http(18, 'Canary')];

/** Renewed in turn. */
const RENEWED: readonly CertificateName[] = ['www', 'api', 'mail'];

/** Returns all services of a generation, from 0. */
export function servicesOf(generation: number): Service[] {
  const build: Service = {
    host: 9,
    port: PORT.http,
    role: { type: 'banner', line: `220 build.${ZONE} agent 4.${generation} ready` },
  };
  return [...LASTING, build, PASSING[generation % PASSING.length]!];
}

/** Number of renewals of a certificate up to a generation. */
export function renewalsOf(name: CertificateName, generation: number): number {
  const turn = RENEWED.indexOf(name);
  return turn === -1 ? 0 : Math.ceil(Math.max(0, generation - turn) / RENEWED.length);
}

/** Identity of a service, the same in every generation. */
export function keyOf({ host, port }: Service): string {
  return `${host}:${port}`;
}
