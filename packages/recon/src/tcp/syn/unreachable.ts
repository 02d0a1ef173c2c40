const IPV4_CODES: Readonly<Record<number, string>> = {
  0: 'icmp-net-unreachable',
  1: 'icmp-host-unreachable',
  2: 'icmp-protocol-unreachable',
  3: 'icmp-port-unreachable',
  9: 'icmp-admin-prohibited',
  10: 'icmp-admin-prohibited',
  13: 'icmp-admin-prohibited',
};

const IPV6_CODES: Readonly<Record<number, string>> = {
  0: 'icmp-net-unreachable',
  1: 'icmp-admin-prohibited',
  3: 'icmp-host-unreachable',
  4: 'icmp-port-unreachable',
  5: 'icmp-admin-prohibited',
  6: 'icmp-admin-prohibited',
};

/** Returns the reason of a port that ICMP reported as unreachable. */
export function unreachableReason(family: 4 | 6, code: number): string {
  return (family === 4 ? IPV4_CODES : IPV6_CODES)[code] ?? 'icmp-unreachable';
}
