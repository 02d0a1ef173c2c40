import { statfsSync } from 'node:fs';
import { atPath } from './deep-path.ts';

/**
 * Bytes that are read of a file which states no size, or which the kernel makes up as it is read: `/proc/self/pagemap`
 * goes on for 256 GiB. The environment and the arguments of a process, 6 MiB at most, are read whole.
 */
export const KERNEL_FILE_BYTES_MAX = 8 * 1024 * 1024;

/** File systems whose content the kernel makes up as it is read, by the number that Linux's `statfs` gives. */
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

/** Tells which devices are file systems of the kernel; asks once for each. */
export class KernelFileSystems {
  readonly #names = new Map<number, string | null>();

  /**
   * The name of the file system, such as `proc`; null for any other one.
   *
   * @param locator bytes of a path on it, as a latin1 string
   * @param device of that path, as `stat` gives it
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
    // It is gone, or not to be looked at: reading it says so.
    return null;
  }
}
