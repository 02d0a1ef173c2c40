import { type ChildProcess, spawn, spawnSync } from 'node:child_process';

/** Addresses of a pair; each test has networks of its own, so they are the same everywhere. */
export const SCANNER_IPV4 = '10.77.0.1';
export const TARGET_IPV4 = '10.77.0.2';
export const SCANNER_IPV6 = 'fd77::1';
export const TARGET_IPV6 = 'fd77::2';

let serial = 0;

function run(command: readonly string[], input?: string): void {
  const { status, stderr, error } = spawnSync(command[0]!, command.slice(1), { input: input ?? '', encoding: 'utf8' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command.join(' ')}: ${stderr.trim()}`);
}

function works(command: readonly string[]): boolean {
  return spawnSync(command[0]!, command.slice(1), { stdio: 'ignore' }).status === 0;
}

/** Why this process can make no networks of its own; null where it can. */
export function missingForNamespaces(): string | null {
  if (process.platform !== 'linux') return 'network namespaces are Linux only';
  if (!works(['ip', '-V'])) return 'the command ip (Debian: iproute2) is not installed';
  const name = `heddle-probe-${process.pid}`;
  if (!works(['ip', 'netns', 'add', name])) return 'ip netns add is not permitted (needs root)';
  run(['ip', 'netns', 'delete', name]);
  return null;
}

/** Why packets cannot be filtered; null where they can. Only where namespaces can be made. */
export function missingForFilters(): string | null {
  return works(['nft', '--version']) ? null : 'the command nft (Debian: nftables) is not installed';
}

/**
 * Two networks of their own that nothing but a cable between them connects: no packet can leave them. Whatever is started
 * in them ends with them.
 */
export class NetworkPair implements AsyncDisposable {
  readonly scanner: string;
  readonly target: string;
  readonly #children = new Set<ChildProcess>();

  private constructor(scanner: string, target: string) {
    this.scanner = scanner;
    this.target = target;
  }

  static create(): NetworkPair {
    const stem = `heddle-${process.pid}-${++serial}`;
    const pair = new NetworkPair(`${stem}-a`, `${stem}-b`);
    for (const name of [pair.scanner, pair.target]) {
      run(['ip', 'netns', 'add', name]);
      pair.ip(name, 'link', 'set', 'lo', 'up');
    }
    const [near, far] = ['02:00:00:00:00:01', '02:00:00:00:00:02'];
    const peer = ['peer', 'name', 'cable', 'address', far, 'netns', pair.target];
    pair.ip(pair.scanner, 'link', 'add', 'cable', 'address', near, 'type', 'veth', ...peer);
    pair.#address(pair.scanner, `${SCANNER_IPV4}/24`, `${SCANNER_IPV6}/64`);
    pair.#address(pair.target, `${TARGET_IPV4}/24`, `${TARGET_IPV6}/64`);
    // IPv6 does not look for neighbours in the first second of a link's life.
    pair.ip(pair.scanner, 'neighbour', 'add', TARGET_IPV6, 'lladdr', far, 'dev', 'cable', 'nud', 'permanent');
    pair.ip(pair.target, 'neighbour', 'add', SCANNER_IPV6, 'lladdr', near, 'dev', 'cable', 'nud', 'permanent');
    return pair;
  }

  #address(name: string, ipv4: string, ipv6: string): void {
    this.ip(name, 'address', 'add', ipv4, 'dev', 'cable');
    this.ip(name, 'address', 'add', ipv6, 'dev', 'cable', 'nodad');
    this.ip(name, 'link', 'set', 'cable', 'up');
  }

  /** Runs `ip` in a network. */
  ip(name: string, ...parameters: string[]): void {
    run(['ip', '-netns', name, ...parameters]);
  }

  /** Sets a parameter of a network, for instance `net.ipv4.ip_forward`. */
  set(name: string, parameter: string, value: string): void {
    const path = `/proc/sys/${parameter.replaceAll('.', '/')}`;
    run(['ip', 'netns', 'exec', name, 'sh', '-c', `echo '${value}' > ${path}`]);
  }

  /** Rules of nftables for what comes into a network, or leaves it. Once for each. */
  filter(name: string, direction: 'input' | 'output', rules: readonly string[]): void {
    const script = [
      `add table inet heddle_${direction}`,
      `add chain inet heddle_${direction} rules { type filter hook ${direction} priority 0; }`,
      ...rules.map((rule) => `add rule inet heddle_${direction} rules ${rule}`),
    ];
    run(['ip', 'netns', 'exec', name, 'nft', '-f', '-'], script.join('\n'));
  }

  /** The beginning of a command line that runs in a network. */
  within(name: string): string[] {
    return ['ip', 'netns', 'exec', name];
  }

  /** A process that is ended with the networks. */
  spawn(name: string, command: readonly string[]): ChildProcess {
    const [first, ...rest] = [...this.within(name), ...command];
    const child = spawn(first!, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#children.add(child);
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
    }
    for (const name of [this.scanner, this.target]) run(['ip', 'netns', 'delete', name]);
  }
}
