import { statfsSync } from 'node:fs';
import { atPath } from './deep-path.ts';

/**
 * Maximum bytes read from a file that reports no size or that the kernel generates: `/proc/self/pagemap` has 256 GiB.
 * The environment and arguments of a process, 6 MiB at most, are read completely.
 */
export const KERNEL_FILE_BYTES_MAX = 8 * 1024 * 1024;

/** File systems whose content the kernel generates, by the number that Linux's `statfs` returns. */
const KERNEL_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x9fa0, 'proc'],
  [0x62656572, 'sysfs'],
  [0x1cd1, 'devpts'],
  [0x64626720, 'debugfs'],
  [0x74726163, 'tracefs'],
  [0x73636673, 'securityfs'],
  [0x27e0eb, 'cgroup'],
  [0x63677270, 'cgroup2'],
  [0xcafe4a11, 'bpf'],
  [0x6165676c, 'pstore'],
  [0x62656570, 'configfs'],
  [0xde5e81e4, 'efivarfs'],
  [0x42494e4d, 'binfmt_misc'],
  [0x65735543, 'fusectl'],
  [0xf97cff8c, 'selinuxfs'],
  [0x43415d53, 'smackfs'],
  [0x6e736673, 'nsfs'],
  [0x19800202, 'mqueue'],
  [0x67596969, 'rpc_pipefs'],
]);

/** Detects kernel file systems by device, with one query per device. */
export class KernelFileSystems {
  readonly #names = new Map<number, string | null>();

  /**
   * Returns the name of the kernel file system, such as `proc`; null for any other.
   *
   * @param locator bytes of a path on it, as a latin1 string
   * @param device device of that path, as reported by `stat`
   */
  nameOf(locator: string, device: number): string | null {
    const known = this.#names.get(device);
    if (known !== undefined) return known;
    const name = lookUp(locator);
    this.#names.set(device, name);
    return name;
  }
}

function lookUp(locator: string): string | null {
  if (process.platform !== 'linux') return null;
  try {
    const { type } = atPath(locator === '' ? '.' : locator, (path) => statfsSync(path));
    return KERNEL_FILE_SYSTEMS.get(type >>> 0) ?? null;
  } catch {
    // The path is gone or inaccessible: reading it reports that.
    return null;
  }
}
