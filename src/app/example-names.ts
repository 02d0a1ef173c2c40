/**
 * The zone of the example's name server: its names may be looked up wherever the example may run. No network beyond the
 * machine has them (RFC 6761), and they make no address one that may be probed.
 */
export const EXAMPLE_NAMES: readonly string[] = ['surface.test'];
