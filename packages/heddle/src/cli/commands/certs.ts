import type { Command } from 'commander';

import { collect, outputOf } from '../settings-options.ts';

const HELP = `
A later run keeps the authority and recreates the other certificates; a running executor reloads them by itself.
In production use the authority of your organization: a client's certificate needs its name as the DNS name, or as the
URI heddle:client:NAME. Exit codes: 0 success, 1 failed, 2 invalid option.`;

const REVOKE_HELP = `
Without a client or certificate the list is renewed unchanged for 30 days: once it expires, every client
certificate is rejected. A running executor reloads it by itself.
Exit codes: 0 success, 1 failed, 2 invalid option.`;

interface RevokeOptions {
  out: string;
  client: string[];
  cert: string[];
  json?: boolean;
}

interface DevOptions {
  out: string;
  client: string[];
  host?: string[];
  json?: boolean;
}

/** `heddle certs`: certificates for trying executors over TLS. */
export function registerCertsCommand(program: Command): void {
  const certs = program.command('certs').description('Create and revoke development certificates');
  certs
    .command('dev')
    .description('Create an authority, and certificates of 30 days for a server and its clients')
    .requiredOption('--out <directory>', 'Directory for ca.pem, server.pem, client-NAME.pem and their keys')
    .option('--client <name>', 'Name of a client; may be repeated', collect, [])
    .option(
      '--host <name>',
      'Name or address of the server; may be repeated (default: localhost and loopback)',
      collect,
    )
    .option('--json', 'Print only JSON on standard output')
    .addHelpText('after', HELP)
    .action(async (options: DevOptions) => {
      const { makeDevelopmentCertificates } = await import('../../app/remote/certs.ts');
      const { out, client: clients, host: hosts = ['localhost', '127.0.0.1', '::1'] } = options;
      const made = await makeDevelopmentCertificates(out, clients, hosts);
      const output = outputOf(options);
      output.result(made, () => {
        output.line(`authority (${made.authority}): ${made.ca}`);
        output.line(`server (${hosts.join(', ')}): ${made.server.cert}, ${made.server.key}`);
        for (const { client, cert, key } of made.clients) output.line(`${client}: ${cert}, ${key}`);
        output.line(`They expire on ${made.expires_at}.`);
      });
    });
  certs
    .command('revoke')
    .description('Add certificates to the revocation list of the development authority')
    .requiredOption('--out <directory>', 'Directory written by `heddle certs dev`; receives crl.pem')
    .option('--client <name>', 'Client whose certificate is revoked; may be repeated', collect, [])
    .option('--cert <file>', 'Another certificate of the authority; may be repeated', collect, [])
    .option('--json', 'Print only JSON on standard output')
    .addHelpText('after', REVOKE_HELP)
    .action(async (options: RevokeOptions) => {
      const { revokeCertificates } = await import('../../app/remote/certs.ts');
      const written = await revokeCertificates(options.out, options.client, options.cert);
      const output = outputOf(options);
      output.result(written, () => {
        for (const path of written.revoked) output.line(`revoked: ${path}`);
        output.line(`${written.crl}: HEDDLE_EXECUTOR_CLIENT_CRL of the executor; renew it by ${written.expires_at}`);
      });
    });
}
