import { Ec2Provider } from './provider.ts';
import { loadEc2Sdk } from './sdk.ts';
import type { Ec2Settings } from './settings.ts';

/** Attempts per call; the pool itself retries launches with the same token. */
const TRIES = 2;

/** @throws Error that names the SDK package if it is not installed */
export async function openEc2Provider(settings: Ec2Settings): Promise<Ec2Provider> {
  const sdk = await loadEc2Sdk();
  const client = new sdk.EC2Client({
    region: settings.region,
    maxAttempts: TRIES,
    ...(settings.endpoint === null ? {} : { endpoint: settings.endpoint }),
  });
  return new Ec2Provider({ settings, sdk, client });
}
