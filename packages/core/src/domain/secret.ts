/** A secret that no further attempt could use: it does not exist, or is not granted. */
export class SecretRefusedError extends Error {}
