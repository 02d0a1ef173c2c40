import type { Random } from '../../../runtime/random.ts';
import { TRY_MASK } from './filters.ts';
import { openLibc } from '../libc.ts';
import { NotPermitted } from './raw-socket.ts';
import type { Wire } from './wire.ts';
import { WireIpv4 } from './wire-ipv4.ts';
import { WireIpv6 } from './wire-ipv6.ts';

/** Above the ports that Linux picks for connections by default. */
const PORT_MIN = 61_008;
const PORT_MAX = 65_520;

export type SynAccess =
  | { available: true; openWire: (family: 4 | 6) => Wire }
  /** A sentence's part: what is not there, and what to do. */
  | { available: false; missing: string };

const BLOCKS = (PORT_MAX - PORT_MIN) / (TRY_MASK + 1) + 1;
let lastBlock: number | undefined;

/**
 * The ports of the next scan: at random for the first one of a process, then one after the other, so that scans which run at the
 * same time never send from the same ones. A host takes a second SYN between the same ports for a fault of the first.
 */
function nextPortBase(random: Random): number {
  lastBlock = lastBlock === undefined ? Math.floor(random.next() * BLOCKS) : (lastBlock + 1) % BLOCKS;
  return PORT_MIN + (TRY_MASK + 1) * lastBlock;
}

/** Finds out whether this process may send SYN packets, by opening and closing what it needs. */
export async function openSyn(random: Random): Promise<SynAccess> {
  const access = await openLibc();
  if (!access.available) return access;
  const { libc } = access;
  const portBase = nextPortBase(random);
  const openWire = (family: 4 | 6): Wire => {
    const parts = { libc, portBase };
    return family === 4 ? new WireIpv4(parts) : new WireIpv6(parts);
  };
  try {
    openWire(4).close();
    return { available: true, openWire };
  } catch (error) {
    if (error instanceof NotPermitted) return { available: false, missing: error.message };
    throw error;
  }
}
