/**
 * Prints the workflow of this example as JSON: `node examples/nightly-nmap/workflow.ts --targets 10.0.0.0/24 --ports
 * top-100 [--notify URL]`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/** Target of the models: what is open, and what nmap says about it. */
const OPEN = 'nightly';
const EXAMINED = 'nightly-nmap';

const NMAP = 'nmap -n -Pn -sT -sV --version-light --script "default and safe" -p "$PORTS" -iL hosts.txt -oX scan.xml';

interface Options {
  targets: readonly string[];
  ports: string;
  /** Where changes are reported; null: nowhere, they are in the models. */
  notify: string | null;
}

function nightlyWorkflow({ targets, ports, notify }: Options) {
  return {
    name: 'nightly nmap',
    root: {
      mode: 'sequential',
      children: [
        {
          id: 'ports',
          mode: 'sequential',
          children: [{ kind: 'TcpSynGenerator', name: 'split ports', input: { target: OPEN, targets, ports } }],
        },
        {
          id: 'fresh',
          kind: 'FilterChanges',
          name: 'find what is new',
          input: { target: OPEN, model: 'service', states: ['new', 'changed'] },
        },
        {
          kind: 'Conditional',
          name: 'anything new?',
          input: { when: 'nodes.fresh.result.matched > 0', then: 'examine', else: 'quiet' },
        },
        { id: 'examine', mode: 'sequential', children: examination(notify) },
        { id: 'quiet', kind: 'InsertData', name: 'nothing new', input: { name: 'quiet', data: true } },
      ],
    },
  };
}

function examination(notify: string | null) {
  return [
    {
      id: 'nmap',
      kind: 'Command',
      name: 'run nmap',
      timeout_secs: 3_600,
      timeout_basis: 'start',
      input: {
        run: NMAP,
        env: { PORTS: { $expr: 'nodes.fresh.result.items.map(each, string(each.data.port)).join(",")' } },
        files: { 'hosts.txt': { $expr: String.raw`nodes.fresh.result.items.map(each, each.data.ip).join("\n")` } },
        network: true,
        artifacts: ['scan.xml'],
      },
    },
    {
      id: 'report',
      kind: 'Command',
      name: 'read its report',
      input: {
        argv: ['python3', 'report.py', 'scan.xml'],
        files: {
          'report.py': readFileSync(join(import.meta.dirname, 'report.py'), 'utf8'),
          'scan.xml': { artifact: 'nmap/scan.xml' },
        },
        result: 'jsonl',
      },
    },
    {
      id: 'stored',
      kind: 'UpsertModels',
      name: 'store what it says',
      input: { target: EXAMINED, model: 'exposure', key: ['host', 'port'], from: 'report' },
    },
    ...(notify === null
      ? []
      : [
          {
            kind: 'GenericNotification',
            name: 'tell',
            input: {
              to: { webhook: { url: notify } },
              payload: {
                text: '{{ nodes.report.result.map(each, each.host + ":" + string(each.port) + " " + each.service + " " + each.product).join(", ") }}',
              },
            },
          },
        ]),
  ];
}

const { values } = parseArgs({
  options: {
    targets: { type: 'string', default: '127.0.0.1' },
    ports: { type: 'string', default: 'top-100' },
    notify: { type: 'string' },
  },
});
const { targets, ports, notify = null } = values;
console.log(JSON.stringify(nightlyWorkflow({ targets: targets.split(','), ports, notify }), null, 2));
