import { join } from 'node:path';

import { readManifest } from '@heddle/base/package-manifest';

/** The version of this package, and the oldest Node that runs it. */
export const { version: VERSION, nodeMin: NODE_MIN } = readManifest(join(import.meta.dirname, '..', '..'));
