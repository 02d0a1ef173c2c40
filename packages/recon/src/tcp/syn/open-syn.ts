import type { Random } from '@heddle/base/random';
import { TRY_MASK } from './filters.ts';
import { openLibc } from '../libc.ts';
import { NotPermitted } from './raw-socket.ts';
import type { Wire } from './wire.ts';
import { WireIpv4 } from './wire-ipv4.ts';
import { WireIpv6 } from './wire-ipv6.ts';

/** Above Linux's default range of local ports. */
const PORT_MIN = 61_008;
const PORT_MAX = 65_520;

export type SynAccess =
  | { available: true; openWire: (family: 4 | 6) => Wire }
  /** What is missing and the remedy, as part of a sentence. */
  | { available: false; missing: string };

const BLOCKS = (PORT_MAX - PORT_MIN) / (TRY_MASK + 1) + 1;
let lastBlock: number | undefined;

/**
 * Returns the ports of the next scan: random for the first one of a process, then consecutive, so that concurrent
 * scans never share ports. A host treats a second SYN between the same ports as a fault of the first.
 */
function nextPortBase(random: Random): number {
  lastBlock = lastBlock === undefined ? Math.floor(random.next() * BLOCKS) : (lastBlock + 1) % BLOCKS;
  return PORT_MIN + (TRY_MASK + 1) * lastBlock;
}

/** Checks whether this process may send SYN packets, by opening and closing the sockets. */
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
