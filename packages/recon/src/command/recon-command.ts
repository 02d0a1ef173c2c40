import { once } from 'node:events';

import type { Command } from 'commander';

import { systemClock } from '@heddle/base/clock';
import { displayFor } from '@heddle/base/terminal/live-progress';
import { Output } from '@heddle/base/terminal/output';
import { commandPath } from '@heddle/base/terminal/program';
import { addOptionGroup } from '@heddle/base/terminal/setting-options';
import type { ProbeProgress } from '../options.ts';
import type { ReconRecord } from '../records.ts';
import { optionGroupsOf, reconRequestOf, type Probe, type ReconRequest } from './options.ts';
import { planText, progressText } from './plan-text.ts';
import { recordTable } from './record-table.ts';
import type { ReconTerminal } from './request.ts';

const TARGETS = 'names, addresses, networks, ranges, host:port, URLs';

export const RECON_DESCRIPTION = 'Probe ports, names and TLS endpoints; needs no server and no database';

export const EXIT_CODES =
  'Exit codes: 0 success, 2 error or all targets refused, 3 some refused or without an address, 130 interrupted by Ctrl-C.';

export const SCOPE_HELP = `
Without --scope (addresses, networks, ranges, domains, or a file), only loopback and private networks are probed.
Without the flag, HEDDLE_RECON_SCOPE applies: the same, comma-separated, files as @PATH.`;

const HELP = `${SCOPE_HELP}\n\n${EXIT_CODES}`;

/** `heddle recon`: needs neither a server nor a database. */
export function registerReconCommand(program: Command): void {
  addProbes(program.command('recon').description(RECON_DESCRIPTION)).addHelpText('after', HELP);
}

/** Adds `tcp`, `dns` and `tls` below a command. */
export function addProbes(command: Command): Command {
  const probe = (name: Probe, description: string, example: string): void => {
    const added = command.command(name).description(description).argument('[target...]', TARGETS);
    for (const [title, group] of Object.entries(optionGroupsOf(name))) addOptionGroup(added, title, group);
    added
      .optionsGroup('Other:')
      .addHelpText('after', () => `\n  ${commandPath(added)} ${example}\n${HELP}`)
      .action((targets: string[], options: object) => run(reconRequestOf(name, targets, options)));
  };
  probe('tcp', 'Find open TCP ports', '127.0.0.1 --ports all');
  probe('dns', 'Resolve names and addresses', 'example.com --wordlist words.txt --scope example.com');
  probe('tls', 'Inspect TLS endpoints and their certificates', '10.0.0.0/24 --ports 443,8443 --versions');
  return command;
}

async function run(request: ReconRequest): Promise<void> {
  const { runRecon } = await import('./run-recon.ts');
  const { projectDiscoveryLine } = await import('../projectdiscovery.ts');
  const { stdout, stderr } = process;
  const lineOf = request.jsonStyle === 'projectdiscovery' ? projectDiscoveryLine : (record: ReconRecord) => record;
  const output = new Output({ stdout, stderr, clock: systemClock, json: request.json });
  const enabled = request.progress && !request.quiet && !request.dryRun;
  const counts = progressText(request.probe);
  const display = displayFor<ProbeProgress>({ stdout, stderr, clock: systemClock, enabled }, { counts });
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
