import type { Command } from 'commander';

import { collectModule as collect, outputOf } from '../settings-options.ts';

const HELP = `
Run again it keeps the authority and makes the other certificates anew; a running executor takes them over by itself.
For production use the authority of your organisation: a client's certificate needs its name as the DNS name, or as the
URI heddle:client:NAME. Exit codes: 0 done, 1 failed, 2 an option is not valid.`;

const REVOKE_HELP = `
Without a client or certificate the list is made anew as it is, for another 30 days: beyond its time every client
certificate is refused. A running executor takes it over by itself.
Exit codes: 0 done, 1 failed, 2 an option is not valid.`;

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
  const certs = program.command('certs').description('certificates of executors and their clients');
  certs
    .command('dev')
    .description('make an authority, and certificates of 30 days for a server and its clients')
    .requiredOption('--out <directory>', 'where ca.pem, server.pem, client-NAME.pem and their keys go')
    .option('--client <name>', 'a client; may be repeated', collect, [])
    .option(
      '--host <name>',
      'name or address of the server; may be repeated (default: localhost and loopback)',
      collect,
    )
    .option('--json', 'JSON on standard output, nothing else')
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
    .description("put certificates on the development authority's list of revoked ones")
    .requiredOption('--out <directory>', 'where `heddle certs dev` has put them; crl.pem goes there')
    .option('--client <name>', 'a client whose certificate there is meant; may be repeated', collect, [])
    .option('--cert <file>', 'another certificate of the authority; may be repeated', collect, [])
    .option('--json', 'JSON on standard output, nothing else')
    .addHelpText('after', REVOKE_HELP)
    .action(async (options: RevokeOptions) => {
      const { revokeCertificates } = await import('../../app/remote/certs.ts');
      const written = await revokeCertificates(options.out, options.client, options.cert);
      const output = outputOf(options);
      output.result(written, () => {
        for (const path of written.revoked) output.line(`revoked: ${path}`);
        output.line(
          `${written.crl}: HEDDLE_EXECUTOR_CLIENT_CRL of the executor; it has to be made anew by ${written.expires_at}`,
        );
      });
    });
}
