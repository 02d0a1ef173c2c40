/**
 * The workflow of this example, as accepted by `POST /v1/workflows` and in a job's definition. It uses only built-in
 * kinds.
 */
import { ZONE } from './plan.ts';
import { WORDS } from './zone.ts';

/** The target of the models. */
export const TARGET = 'surface';

/** Ports, names and connections per second: low enough even for a small network. */
const RATE = 800;
const TASKS_MAX = 8;

export interface SurfaceOptions {
  /** What is scanned. */
  addresses: string;
  ports: string;
  /** `address:port` of the name server of the zone. */
  resolver: string;
  /** Where changes are reported, with the key that authenticates the report. */
  told: { url: string; key: string };
}

/** TLS scans target services that wait for the client: those that greet first use another protocol. */
const WAITS_TO_BE_ASKED = '!has(data.banner)';

export function surfaceWorkflow({ addresses, ports, resolver, told }: SurfaceOptions) {
  const names = [ZONE, ...WORDS.map((word) => `${word}.${ZONE}`)];
  return {
    name: 'attack surface',
    root: {
      mode: 'sequential',
      children: [
        {
          id: 'ports',
          mode: 'sequential',
          children: [
            {
              kind: 'TcpSynGenerator',
              name: 'split ports',
              input: {
                target: TARGET,
                targets: [addresses],
                ports,
                rate: RATE,
                retries: 1,
                banner: true,
                partition: { tasks_max: TASKS_MAX },
              },
            },
          ],
        },
        {
          id: 'hosts',
          kind: 'ListModels',
          name: 'list hosts',
          input: { model: 'host', target: TARGET, states: ['new', 'changed', 'known'] },
        },
        {
          id: 'names-and-certificates',
          mode: 'parallel',
          children: [
            {
              id: 'names',
              mode: 'sequential',
              children: [
                {
                  kind: 'DnsScanGenerator',
                  name: 'split names',
                  input: {
                    target: TARGET,
                    // Names of hosts, and further names worth trying.
                    targets: { $expr: `${JSON.stringify(names)} + nodes.hosts.result.items.map(host, host.key)` },
                    types: ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'TXT'],
                    resolvers: [resolver],
                    rate: RATE,
                    wildcards: true,
                  },
                },
              ],
            },
            {
              id: 'certificates',
              mode: 'sequential',
              children: [
                {
                  kind: 'TlsScanGenerator',
                  name: 'split services',
                  input: {
                    target: TARGET,
                    from: { model: 'service', target: TARGET, where: WAITS_TO_BE_ASKED },
                    rate: RATE,
                    versions: true,
                    starttls: 'off',
                  },
                },
              ],
            },
          ],
        },
        { id: 'changes', kind: 'FilterChanges', name: 'find changes', input: { target: TARGET } },
        {
          kind: 'Conditional',
          name: 'any changes?',
          input: { when: 'nodes.changes.result.matched > 0', then: 'tell', else: 'quiet' },
        },
        {
          id: 'tell',
          kind: 'GenericNotification',
          name: 'report changes',
          input: {
            to: { webhook: { url: told.url, headers: { 'x-api-key': told.key } } },
            payload: {
              text: `{{ nodes.changes.result.items.filter(each, each.state == "new").size() }} new, {{ nodes.changes.result.items.filter(each, each.state == "changed").size() }} changed, {{ nodes.changes.result.items.filter(each, each.state == "gone").size() }} gone`,
            },
          },
        },
        { id: 'quiet', kind: 'InsertData', name: 'no changes', input: { name: 'quiet', data: true } },
      ],
    },
  };
}
