/**
 * The network of this example: about thirty services on loopback and their name server. To start them by hand until
 * Ctrl-C: `node examples/attack-surface/services.ts`.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { makeAuthority, makeCertificate, type Pair } from './certificates.ts';
import { openListener, type Listener, type Place } from './listeners.ts';
import { HOSTS, keyOf, PORTS_A_HOST, renewalsOf, servicesOf, type CertificateName, type Service } from './plan.ts';
import { makeZone } from './zone.ts';

export interface SurfaceServices {
  /** Addresses to scan, as a range. */
  readonly addresses: string;
  /** Ports to scan, as a range. */
  readonly ports: string;
  /** `address:port` of the name server. */
  readonly resolver: string;
  /** Number of listening services. */
  readonly count: number;
  /** Changes a little: one service added, one gone, one certificate renewed, one banner changed. */
  advance(): Promise<void>;
  close(): Promise<void>;
}

export interface ServicesOptions {
  /** Location of certificates, ports and the generation, so that the next start continues with the same network. */
  directory: string;
}

interface Kept extends Pair {
  renewals: number;
}

interface State {
  first_port: number;
  generation: number;
  certificates: Partial<Record<CertificateName | 'authority', Kept>>;
}

/** Address of a host of the plan. */
interface Layout {
  addressOf(host: number): string;
  portOf(service: Service): number;
  addresses: string;
  ports: string;
}

const STATE_FILE = 'services.json';
/** Tried in this order; all are below the ports of outgoing connections. */
const FIRST_PORTS = Array.from({ length: 20 }, (_, index) => 18_000 + 500 * index);
const NAME_SERVER = servicesOf(0).find(({ role }) => role.type === 'names')!;

export async function startServices({ directory }: ServicesOptions): Promise<SurfaceServices> {
  const state = await readState(directory);
  const services = await Network.open(state, (changed) => writeState(directory, changed));
  return services;
}

/** The current listeners. */
class Network implements SurfaceServices {
  readonly #layout: Layout;
  readonly #state: State;
  readonly #keep: (state: State) => Promise<void>;
  readonly #listeners = new Map<string, Listener>();

  private constructor(layout: Layout, state: State, keep: (state: State) => Promise<void>) {
    this.#layout = layout;
    this.#state = state;
    this.#keep = keep;
  }

  /** Uses the first range of ports that are all free. */
  static async open(state: State, keep: (state: State) => Promise<void>): Promise<Network> {
    const candidates = new Set([state.first_port, ...FIRST_PORTS]);
    let reason: unknown;
    for (const layoutOf of [manyAddresses, oneAddress]) {
      for (const first_port of candidates) {
        const opened = { ...state, first_port };
        const network = new Network(layoutOf(first_port), opened, keep);
        try {
          await network.#provideCertificates();
          await network.#settle();
          await keep(opened);
          return network;
        } catch (error) {
          reason = error;
          await network.close();
          // A machine without these addresses cannot listen on any of their ports.
          if ((error as NodeJS.ErrnoException).code === 'EADDRNOTAVAIL') break;
        }
      }
    }
    throw new Error('No free ports for the services of the example', { cause: reason });
  }

  get addresses(): string {
    return this.#layout.addresses;
  }

  get ports(): string {
    return this.#layout.ports;
  }

  get resolver(): string {
    return `${this.#layout.addressOf(NAME_SERVER.host)}:${this.#layout.portOf(NAME_SERVER)}`;
  }

  get count(): number {
    return this.#listeners.size;
  }

  async advance(): Promise<void> {
    this.#state.generation += 1;
    await this.#provideCertificates();
    await this.#settle();
    await this.#keep(this.#state);
  }

  async close(): Promise<void> {
    const listeners = [...this.#listeners.values()];
    this.#listeners.clear();
    await Promise.all(listeners.map((listener) => listener.close()));
  }

  /** Creates missing certificates and renews those that are due. */
  async #provideCertificates(): Promise<void> {
    const { certificates, generation } = this.#state;
    certificates.authority ??= { ...(await makeAuthority()), renewals: 0 };
    for (const { host, role } of servicesOf(generation)) {
      if (role.type !== 'tls') continue;
      const renewals = renewalsOf(role.certificate, generation);
      if (certificates[role.certificate]?.renewals === renewals) continue;
      const options = {
        authority: certificates.authority,
        address: this.#layout.addressOf(host),
        renewed: renewals > 0,
      };
      certificates[role.certificate] = { ...(await makeCertificate(role.certificate, options)), renewals };
    }
  }

  /** Opens, changes and closes listeners to match the generation. */
  async #settle(): Promise<void> {
    const services = servicesOf(this.#state.generation);
    const keys = new Set(services.map(keyOf));
    for (const [key, listener] of this.#listeners) {
      if (keys.has(key)) continue;
      this.#listeners.delete(key);
      await listener.close();
    }
    const zone = makeZone((host) => this.#layout.addressOf(host));
    const certificates = certificatesOf(this.#state);
    // Sequentially: a process that has the first of these ports has them all.
    for (const service of services) {
      const place: Place = {
        address: this.#layout.addressOf(service.host),
        port: this.#layout.portOf(service),
        zone,
        certificates,
      };
      const known = this.#listeners.get(keyOf(service));
      if (known === undefined) this.#listeners.set(keyOf(service), await openListener(service.role, place));
      else known.change(service.role, certificates);
    }
  }
}

/** Each host has its own address. */
function manyAddresses(firstPort: number): Layout {
  return {
    addressOf: (host) => `127.0.10.${host}`,
    portOf: ({ port }) => firstPort + port,
    addresses: `127.0.10.1-127.0.10.${HOSTS}`,
    ports: `${firstPort}-${firstPort + PORTS_A_HOST - 1}`,
  };
}

/** If loopback is only 127.0.0.1, hosts use different ports of it. */
function oneAddress(firstPort: number): Layout {
  return {
    addressOf: () => '127.0.0.1',
    portOf: ({ host, port }) => firstPort + (host - 1) * PORTS_A_HOST + port,
    addresses: '127.0.0.1',
    ports: `${firstPort}-${firstPort + HOSTS * PORTS_A_HOST - 1}`,
  };
}

function certificatesOf({ certificates }: State): Place['certificates'] {
  return new Map(Object.entries(certificates) as [CertificateName | 'authority', Pair][]);
}

async function readState(directory: string): Promise<State> {
  return readFile(join(directory, STATE_FILE), 'utf8').then(
    (text) => JSON.parse(text) as State,
    () => ({ first_port: FIRST_PORTS[0]!, generation: 0, certificates: {} }),
  );
}

/** Readable only by its owner, because it contains private keys. */
async function writeState(directory: string, state: State): Promise<void> {
  await mkdir(directory, { recursive: true });
  const file = join(directory, STATE_FILE);
  await writeFile(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

if (import.meta.main) {
  const directory = join(process.argv[2] ?? process.env['HEDDLE_DATA_DIR'] ?? '.heddle', 'examples/attack-surface');
  const services = await startServices({ directory });
  console.log(`${services.count} services at ${services.addresses}, ports ${services.ports}`);
  console.log(`name server of surface.test: ${services.resolver}`);
  process.once('SIGINT', () => void services.close());
}
