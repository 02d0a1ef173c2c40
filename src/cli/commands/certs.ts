import type { Command } from 'commander';

import { collectModule as collect, outputOf } from '../settings-options.ts';

const HELP = `
Run again it keeps the authority and makes the other certificates anew; a running executor takes them over by itself.
For production use the authority of your organisation: a client's certificate needs its name as the DNS name, or as the
URI heddle:client:NAME. Exit codes: 0 done, 1 failed, 2 an option is not valid.`;

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
}
