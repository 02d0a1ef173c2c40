import { shown } from '@heddle/base/parse/faults';
import type { Members } from '@heddle/base/parse/members';
import { MEMORY_MIB_MAX } from '@heddle/base/vocabulary/requirements';

const KIB = 1_024;
const MIB = KIB ** 2;

/** Bytes of each unit; a number alone is MiB. */
const UNITS: Readonly<Record<string, number>> = {
  mib: MIB,
  mi: MIB,
  gib: KIB ** 3,
  gi: KIB ** 3,
  tib: KIB ** 4,
  ti: KIB ** 4,
  mb: 1_000 ** 2,
  gb: 1_000 ** 3,
  tb: 1_000 ** 4,
};

const AMOUNT = /^(\d{1,12}(?:\.\d{1,6})?) ?([a-z]{2,3})$/i;
const FORM = 'must be an amount such as "4GiB" or "4096MiB", or a whole number of MiB';

/**
 * Reads the minimum memory from `memory_mib` or, with a unit, from `memory`, rounded up to whole MiB. Returns null if
 * both are absent.
 */
export function readMemoryMib(members: Members): number | null {
  const mib = members.integer('memory_mib', 1, MEMORY_MIB_MAX);
  if (!members.has('memory')) return mib;
  if (members.has('memory_mib')) {
    members.fault('memory', 'must not be combined with memory_mib; remove one of the two');
    return mib;
  }
  const given = members.raw('memory');
  return typeof given === 'string' ? readAmount(given, members) : readNumber(given, members);
}

function readNumber(given: unknown, members: Members): number | null {
  if (Number.isInteger(given)) return members.integer('memory', 1, MEMORY_MIB_MAX);
  members.fault('memory', `${FORM}, not ${shown(given)}`);
  return null;
}

function readAmount(given: string, members: Members): number | null {
  const [, amount = '', unit = ''] = AMOUNT.exec(given) ?? [];
  const bytes = Number(amount) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
  const mib = Math.ceil(bytes / MIB);
  if (mib >= 1 && mib <= MEMORY_MIB_MAX) return mib;
  const isAmount = !Number.isNaN(bytes) && amount !== '';
  const bounds = `must be between 1MiB and ${MEMORY_MIB_MAX / MIB}TiB`;
  const units = 'units are MiB, GiB, TiB, MB, GB and TB';
  members.fault('memory', isAmount ? `${bounds}, not ${shown(given)}` : `${FORM}, not ${shown(given)}; ${units}`);
  return null;
}
