import type * as Sdk from '@aws-sdk/client-ec2';

export type Ec2Sdk = typeof Sdk;

/** Loads the SDK, which only servers that launch runners on EC2 need. */
export async function loadEc2Sdk(): Promise<Ec2Sdk> {
  try {
    return await import('@aws-sdk/client-ec2');
  } catch (error) {
    throw new Error('Runners on EC2 require the package @aws-sdk/client-ec2; run: npm install @aws-sdk/client-ec2', {
      cause: error,
    });
  }
}
