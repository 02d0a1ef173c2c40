/**
 * The workflow of this example, as `POST /v1/workflows` and a job's definition take it. It is made of kinds that come with
 * Heddle: nothing of it is code of the example's own.
 */
import { ZONE } from './plan.ts';
import { WORDS } from './zone.ts';

/** The name under which models are kept. */
export const TARGET = 'surface';

/** Ports, names and connections a second: polite even to a small network. */
const RATE = 800;
const TASKS_MAX = 8;

export interface SurfaceOptions {
  /** What is looked at. */
  addresses: string;
  ports: string;
  /** `address:port` of the name server that knows the zone. */
  resolver: string;
  /** Where changes are told, with what to send there so that it is believed. */
  told: { url: string; key: string };
}

/** Scans of TLS are aimed at services that wait to be spoken to: those that greet first speak something else. */
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
              name: 'divide the ports',
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
          name: 'the hosts that are there',
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
                  name: 'divide the names',
                  input: {
                    target: TARGET,
                    // What hosts are called, beside names that are worth a try.
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
                  name: 'divide the services',
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
        { id: 'changes', kind: 'FilterChanges', name: 'what is different', input: { target: TARGET } },
        {
          kind: 'Conditional',
          name: 'is anything different?',
          input: { when: 'nodes.changes.result.matched > 0', then: 'tell', else: 'quiet' },
        },
        {
          id: 'tell',
          kind: 'GenericNotification',
          name: 'tell what is different',
          input: {
            to: { webhook: { url: told.url, headers: { 'x-api-key': told.key } } },
            payload: {
              text: `{{ nodes.changes.result.items.filter(each, each.state == "new").size() }} new, {{ nodes.changes.result.items.filter(each, each.state == "changed").size() }} changed, {{ nodes.changes.result.items.filter(each, each.state == "gone").size() }} gone`,
            },
          },
        },
        { id: 'quiet', kind: 'InsertData', name: 'nothing is different', input: { name: 'quiet', data: true } },
      ],
    },
  };
}
