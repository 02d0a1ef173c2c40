/**
 * The zone of the example's name server: its names may be looked up wherever the example may run. No other network has
 * them (RFC 6761), and they make no further address a permitted target.
 */
export const EXAMPLE_NAMES: readonly string[] = ['surface.test'];
