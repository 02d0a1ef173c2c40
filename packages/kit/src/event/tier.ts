/** Sandbox tiers, weakest isolation first. */
export const TIERS = ['pooled', 'process', 'jail', 'container'] as const;
export type Tier = (typeof TIERS)[number];
