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

/** Finds out whether this process may send SYN packets, by opening and closing what it needs. */
export async function openSyn(random: Random): Promise<SynAccess> {
  const access = await openLibc();
  if (!access.available) return access;
  const { libc } = access;
  const blocks = (PORT_MAX - PORT_MIN) / (TRY_MASK + 1) + 1;
  const portBase = PORT_MIN + (TRY_MASK + 1) * Math.floor(random.next() * blocks);
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
