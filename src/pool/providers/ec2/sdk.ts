import type * as Sdk from '@aws-sdk/client-ec2';

export type Ec2Sdk = typeof Sdk;

/** Loaded only where runners are launched on EC2. */
export async function loadEc2Sdk(): Promise<Ec2Sdk> {
  try {
    return await import('@aws-sdk/client-ec2');
  } catch (error) {
    throw new Error('Runners on EC2 need the package @aws-sdk/client-ec2: npm install @aws-sdk/client-ec2', {
      cause: error,
    });
  }
}
