import { Ec2Provider } from './provider.ts';
import { loadEc2Sdk } from './sdk.ts';
import type { Ec2Settings } from './settings.ts';

/** Of one call; launches are tried again by the pool, with the same token. */
const TRIES = 2;

/** @throws Error where the package of the SDK is missing, naming it */
export async function openEc2Provider(settings: Ec2Settings): Promise<Ec2Provider> {
  const sdk = await loadEc2Sdk();
  const client = new sdk.EC2Client({
    region: settings.region,
    maxAttempts: TRIES,
    ...(settings.endpoint === null ? {} : { endpoint: settings.endpoint }),
  });
  return new Ec2Provider({ settings, sdk, client });
}
