import type { Command } from 'commander';

import type { ExecutorEvent } from '../../app/remote/executor-events.ts';
import type { Output } from '@heddle/base/terminal/output';
import { addSettingsOptions, collectModule as collect, configurationOf, outputOf } from '../settings-options.ts';

type ExecutorOptions = Parameters<typeof configurationOf>[0] &
  Partial<Record<keyof typeof FLAGS, string>> & { allow?: readonly string[] };

/** Flags for frequently used settings; the others are set by `--set`. */
const FLAGS = {
  keys: { flag: '--keys <file>', name: 'HEDDLE_EXECUTOR_KEYS', text: 'Key ring written by `heddle keys generate`' },
  events: {
    flag: '--events <directory>',
    name: 'HEDDLE_EXECUTOR_EVENTS_DIR',
    text: 'Directory whose modules define events',
  },
  eventsFile: {
    flag: '--events-file <file>',
    name: 'HEDDLE_EXECUTOR_EVENTS',
    text: 'File that lists events of packages and repositories: JSON, YAML or TOML',
  },
  tier: { flag: '--tier <tier>', name: 'HEDDLE_EXECUTOR_TIER', text: 'pooled, process, jail or container' },
  tlsCert: { flag: '--tls-cert <file>', name: 'HEDDLE_EXECUTOR_TLS_CERT', text: 'certificate chain, PEM' },
  tlsKey: { flag: '--tls-key <file>', name: 'HEDDLE_EXECUTOR_TLS_KEY', text: 'Private key of the certificate, PEM' },
  clientCa: {
    flag: '--client-ca <file>',
    name: 'HEDDLE_EXECUTOR_CLIENT_CA',
    text: 'Authorities of client certificates, PEM',
  },
  clientCrl: {
    flag: '--client-crl <file>',
    name: 'HEDDLE_EXECUTOR_CLIENT_CRL',
    text: 'Revocation lists for client certificates, PEM',
  },
  executorData: {
    flag: '--executor-data <directory>',
    name: 'HEDDLE_EXECUTOR_DATA',
    text: 'Directory of the journal, the audit log and code',
  },
} as const;

const ALLOWED_NAME = 'HEDDLE_EXECUTOR_ALLOWED_EVENTS';
const ALLOWED = 'Events that may be submitted, comma-separated; may be repeated; * for all';

/** `heddle executor`: needs no database. */
export function registerExecutorCommand(program: Command): void {
  const command = program
    .command('executor')
    .description('Run signed remote tasks in a sandbox; needs no server and no database');
  for (const { flag, name, text } of Object.values(FLAGS)) command.option(flag, `${text} (${name})`);
  command.option('--allow <names>', `${ALLOWED} (${ALLOWED_NAME})`, collect);
  addSettingsOptions(command)
    .addHelpText('after', HELP)
    .action(async (options: ExecutorOptions) => {
      const set: Record<string, string> = { ...options.set };
      for (const [key, { name }] of Object.entries(FLAGS)) {
        const value = options[key as keyof typeof FLAGS];
        if (value !== undefined) set[name] = value;
      }
      if (options.allow !== undefined) set[ALLOWED_NAME] = options.allow.join(',');
      const configuration = configurationOf({ ...options, set });
      const output = outputOf(options);
      const { runExecutor } = await import('../../app/executor.ts');
      process.exitCode = await runExecutor({ configuration, tell: (event) => printExecutorEvent(output, event) });
    });
}

const HELP = `
  heddle keys generate --out keys --client laptop
  heddle executor --keys keys/keys.json --events examples/remote-events --allow '*'
  heddle event submit WordCount '{"text":"to be or not to be"}' --executor grpc+plain://127.0.0.1:50051 --client-file keys/client-laptop.json

Ctrl-C or SIGTERM: no new task is accepted, running tasks may finish; a second one stops at once.
Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 could not start, 2 invalid setting, 130 stopped by force.
With --json, one document for each of: ready, stopping, stopped.`;

function printExecutorEvent(output: Output, event: ExecutorEvent): void {
  if (output.json) output.document(event);
  else for (const line of linesOf(output, event)) output.line(line);
}

function linesOf(output: Output, event: ExecutorEvent): string[] {
  switch (event.event) {
    case 'ready': {
      const { events, allowed_events, listeners, tier, workers } = event;
      return [
        `${workers} workers; tasks run in the tier ${output.paint('bold', tier)}.`,
        ...listeners.map(({ protocol, url }) => `${protocol.padEnd(6)} ${url}`),
        `Events: ${events.length === 0 ? 'none yet' : events.join(', ')}.`,
        ...(allowed_events.length === 0
          ? ['None of them may be submitted: allow them with --allow (HEDDLE_EXECUTOR_ALLOWED_EVENTS).']
          : []),
        'Press Ctrl-C to stop.',
      ];
    }
    case 'stopping':
      return [`Stopping; ${event.running} tasks running, ${event.waiting} waiting. Press Ctrl-C again to force.`];
    case 'stopped':
      return ['Stopped. Waiting tasks run at the next start; results are kept for their callers.'];
    case 'forced':
      return ['Stopped by force; the next start reports interrupted tasks to their callers.'];
  }
}
