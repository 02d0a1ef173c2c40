import { once } from 'node:events';

import type { Command } from 'commander';

import { systemClock } from '@heddle/base/clock';
import type { ReconRecord, ReconRequest, ReconTerminal } from '../../app/recon/request.ts';
import { displayFor } from '@heddle/base/terminal/live-progress';
import { Output } from '@heddle/base/terminal/output';
import { planText, progressText } from '../output/recon-plan.ts';
import { recordTable } from '../output/recon-table.ts';
import {
  addDnsOptions,
  addTcpOptions,
  addTlsOptions,
  dnsRequestOf,
  tcpRequestOf,
  tlsRequestOf,
  type DnsFlags,
  type TcpFlags,
  type TlsFlags,
} from './recon-options.ts';

const TARGETS = 'names, addresses, networks, ranges, host:port, URLs';

const HELP = `
Without --scope (addresses, networks, ranges, domains, or a file), only loopback and private networks are probed.
Without the flag, HEDDLE_RECON_SCOPE applies: the same, comma-separated, files as @PATH.

Exit codes: 0 success, 2 error or all targets refused, 3 some refused or without an address, 130 interrupted by Ctrl-C.`;

/** `heddle recon`: needs neither a server nor a database. */
export function registerReconCommands(program: Command): void {
  const recon = program
    .command('recon')
    .description('Probe ports, names and TLS endpoints; needs no server and no database')
    .addHelpText('after', HELP);
  const probe = (name: string, description: string): Command =>
    recon.command(name).description(description).argument('[target...]', TARGETS);
  addTcpOptions(probe('tcp', 'Find open TCP ports'))
    .addHelpText('after', `\n  heddle recon tcp 127.0.0.1 --ports all\n${HELP}`)
    .action((targets: string[], flags: TcpFlags) => run(tcpRequestOf(targets, flags), flags.progress));
  addDnsOptions(probe('dns', 'Resolve names and addresses'))
    .addHelpText('after', `\n  heddle recon dns example.com --wordlist words.txt --scope example.com\n${HELP}`)
    .action((targets: string[], flags: DnsFlags) => run(dnsRequestOf(targets, flags), flags.progress));
  addTlsOptions(probe('tls', 'Inspect TLS endpoints and their certificates'))
    .addHelpText('after', `\n  heddle recon tls 10.0.0.0/24 --ports 443,8443 --versions\n${HELP}`)
    .action((targets: string[], flags: TlsFlags) => run(tlsRequestOf(targets, flags), flags.progress));
}

async function run(request: ReconRequest, withProgress: boolean): Promise<void> {
  const { projectDiscoveryLine, runRecon } = await import('../../app/recon.ts');
  const { stdout, stderr } = process;
  const lineOf = request.jsonStyle === 'projectdiscovery' ? projectDiscoveryLine : (record: ReconRecord) => record;
  const output = new Output({ stdout, stderr, clock: systemClock, json: request.json });
  const enabled = withProgress && !request.quiet && !request.dryRun;
  const counts = progressText(request.probe);
  const display = displayFor<Parameters<ReconTerminal['progress']>[0]>(
    { stdout, stderr, clock: systemClock, enabled },
    { counts },
  );
  const table = recordTable(request, (style, text) => output.paint(style, text));
  const terminal: ReconTerminal = {
    render: request.json ? (record) => `${JSON.stringify(lineOf(record))}\n` : (record) => table(record),
    plan: request.json ? (plan) => `${JSON.stringify(plan)}\n` : planText,
    print: (text) => {
      display.print(text);
      // onClosed reports what broke the pipe; this only avoids an unhandled rejection.
      return stdout.writableNeedDrain ? once(stdout, 'drain').then(ignore, ignore) : undefined;
    },
    notice: (text) => display.notice(text),
    progress: (progress) => display.update(progress),
    stopProgress: () => display.stop(),
    onClosed: (closed) => void stdout.once('error', closed),
  };
  process.exitCode = await runRecon(request, terminal);
}

function ignore(): void {
  // Nothing to do.
}
