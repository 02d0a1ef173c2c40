/** Purpose of an IP address. Only `public` may be called without an allow rule. */
export type NetworkClass =
  | 'public'
  | 'loopback'
  | 'private'
  | 'link_local'
  | 'metadata'
  | 'multicast'
  | 'unspecified'
  | 'broadcast'
  | 'carrier_grade_nat'
  | 'embedded_ipv4'
  | 'reserved';

/** Network that is not simply public. */
export interface SpecialNetwork {
  /** In CIDR notation; without a length it is one address. */
  network: string;
  class: NetworkClass;
  /** Description, used as `is …`. */
  what: string;
  /** Bits by which embedded IPv4 addresses are shifted, if they are at a fixed position. */
  embeds_shift?: number;
}

/**
 * Table of special networks, used by webhooks and network scans. The first matching row counts, so more specific
 * networks come first.
 */
export const SPECIAL_NETWORKS: readonly SpecialNetwork[] = [
  { network: '169.254.169.254', class: 'metadata', what: 'a metadata service of clouds' },
  { network: '169.254.170.2', class: 'metadata', what: 'a metadata service of clouds' },
  { network: '169.254.170.23', class: 'metadata', what: 'a metadata service of clouds' },
  { network: '169.254.169.123', class: 'metadata', what: 'a service of the cloud itself' },
  { network: '169.254.169.253', class: 'metadata', what: 'a service of the cloud itself' },
  { network: '100.100.100.200', class: 'metadata', what: 'a metadata service of clouds' },
  { network: '168.63.129.16', class: 'metadata', what: 'a metadata service of clouds' },
  { network: '192.0.0.192', class: 'metadata', what: 'a metadata service of clouds' },
  { network: 'fd00:ec2::254', class: 'metadata', what: 'a metadata service of clouds' },
  { network: 'fd00:ec2::23', class: 'metadata', what: 'a metadata service of clouds' },
  { network: 'fd00:ec2::253', class: 'metadata', what: 'a service of the cloud itself' },
  { network: 'fd20:ce::254', class: 'metadata', what: 'a metadata service of clouds' },
  { network: 'fe80::a9fe:a9fe', class: 'metadata', what: 'a metadata service of clouds' },
  {
    network: '0.0.0.0/8',
    class: 'unspecified',
    what: 'an address of "this network", which reaches the machine itself',
  },
  { network: '100.64.0.0/10', class: 'carrier_grade_nat', what: "an address of a provider's shared network (CGNAT)" },
  { network: '169.254.0.0/16', class: 'link_local', what: 'a link-local address' },
  { network: '192.0.0.0/24', class: 'reserved', what: 'an address of IETF protocols' },
  { network: '192.0.2.0/24', class: 'reserved', what: 'an address of documentation' },
  { network: '198.51.100.0/24', class: 'reserved', what: 'an address of documentation' },
  { network: '203.0.113.0/24', class: 'reserved', what: 'an address of documentation' },
  { network: '192.88.99.0/24', class: 'reserved', what: 'a relay of 6to4' },
  { network: '192.31.196.0/24', class: 'reserved', what: 'a name server of AS112' },
  { network: '192.52.193.0/24', class: 'reserved', what: 'a relay of multicast (AMT)' },
  { network: '192.175.48.0/24', class: 'reserved', what: 'a name server of AS112' },
  { network: '198.18.0.0/15', class: 'reserved', what: 'an address of benchmarks' },
  { network: '224.0.0.0/4', class: 'multicast', what: 'a multicast address' },
  { network: '255.255.255.255', class: 'broadcast', what: 'the broadcast address' },
  { network: '240.0.0.0/4', class: 'reserved', what: 'a reserved address' },
  { network: '::', class: 'unspecified', what: 'the unspecified address, which reaches the machine itself' },
  {
    network: '::ffff:0:0/96',
    class: 'embedded_ipv4',
    what: 'an IPv4 address written as IPv6 (mapped)',
    embeds_shift: 0,
  },
  { network: '::ffff:0:0:0/96', class: 'embedded_ipv4', what: 'a translated IPv4 address (SIIT)', embeds_shift: 0 },
  { network: '64:ff9b::/96', class: 'embedded_ipv4', what: 'a translated IPv4 address (NAT64)', embeds_shift: 0 },
  { network: '64:ff9b:1::/48', class: 'embedded_ipv4', what: 'a translated IPv4 address (NAT64)' },
  { network: '2002::/16', class: 'embedded_ipv4', what: 'a tunnelled IPv4 address (6to4)', embeds_shift: 80 },
  { network: '2001::/32', class: 'embedded_ipv4', what: 'a tunnelled IPv4 address (Teredo)' },
  { network: '2001:db8::/32', class: 'reserved', what: 'an address of documentation' },
  { network: '2001::/23', class: 'reserved', what: 'an address of IETF protocols' },
  { network: '3fff::/20', class: 'reserved', what: 'an address of documentation' },
  { network: '2620:4f:8000::/48', class: 'reserved', what: 'a name server of AS112' },
  { network: '100::/64', class: 'reserved', what: 'an address that discards everything' },
  { network: '5f00::/16', class: 'reserved', what: 'an address of segment routing' },
  { network: 'fe80::/10', class: 'link_local', what: 'a link-local address' },
  { network: 'fec0::/10', class: 'reserved', what: 'a site-local address, which is deprecated' },
  { network: 'ff00::/8', class: 'multicast', what: 'a multicast address' },
  { network: '::1', class: 'loopback', what: 'a loopback address' },
  // Notations of early IPv6.
  { network: '::/96', class: 'embedded_ipv4', what: 'an IPv4 address written as IPv6 (compatible)', embeds_shift: 0 },
  { network: '127.0.0.0/8', class: 'loopback', what: 'a loopback address' },
  { network: '10.0.0.0/8', class: 'private', what: 'a private address' },
  { network: '172.16.0.0/12', class: 'private', what: 'a private address' },
  { network: '192.168.0.0/16', class: 'private', what: 'a private address' },
  { network: 'fc00::/7', class: 'private', what: 'a private address' },
];

/** Range of IPv6 global unicast addresses; everything outside is reserved, listed or not. */
export const GLOBAL_UNICAST_V6 = '2000::/3';
