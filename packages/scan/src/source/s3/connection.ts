import type * as Sdk from '@aws-sdk/client-s3';
import type { S3Client } from '@aws-sdk/client-s3';
import type { SourceSpec } from '../../options.ts';
import { loadPackage, networkAdvice } from '../bucket/store.ts';

export type S3Spec = Extract<SourceSpec, { type: 's3' }>;
export type S3Sdk = typeof Sdk;

export interface S3Connection {
  sdk: S3Sdk;
  client: S3Client;
}

const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };
function ignore(): void {
  // Failures are thrown as well.
}

/** Attempts per request, including the first; the SDK waits between them. */
const TRIES_MAX = 5;

/**
 * Loads the SDK and creates a client. The SDK finds credentials in its usual places.
 *
 * @throws Error that names the package if it is missing
 */
export async function connect(spec: S3Spec): Promise<S3Connection> {
  const sdk = await loadPackage(() => import('@aws-sdk/client-s3'), 's3://', '@aws-sdk/client-s3');
  const { endpoint, region, force_path_style: isPathStyle } = spec;
  const client = new sdk.S3Client({
    maxAttempts: TRIES_MAX,
    // Otherwise it writes warnings to the terminal.
    logger: SILENT,
    followRegionRedirects: true,
    // Checksums cover whole objects, but these are read in parts.
    responseChecksumValidation: 'WHEN_REQUIRED',
    ...(endpoint === undefined ? {} : { endpoint }),
    // Other services have no region, but the SDK requires one.
    ...(region !== undefined ? { region } : endpoint !== undefined ? { region: 'us-east-1' } : {}),
    ...(isPathStyle === undefined ? {} : { forcePathStyle: isPathStyle }),
  });
  return { sdk, client };
}

/** Returns `s3://bucket/prefix`. */
export function addressOf({ bucket, prefix = '' }: S3Spec): string {
  return `s3://${bucket}/${prefix}`;
}

const READING = 's3:ListBucket for the bucket and s3:GetObject for its objects';

/**
 * Converts a failed request to an error with its remedy.
 * @param permissions what the credentials need
 */
export function explain(spec: S3Spec, error: unknown, permissions = READING): Error {
  const { name, message } = error as Error;
  const advice = adviceOf(spec, name, permissions) ?? networkAdvice(message) ?? `${name}: ${message}`;
  return new Error(`${addressOf(spec)}: ${advice}`, {
    cause: error,
  });
}

function adviceOf({ bucket }: S3Spec, name: string, permissions: string): string | null {
  switch (name) {
    case 'NoSuchBucket':
      return `there is no bucket ${bucket}; check its name, and the region or endpoint`;
    case 'AccessDenied':
    case 'Forbidden':
    case '403':
      return `access denied; these credentials need ${permissions}`;
    case 'CredentialsProviderError':
      return 'no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE';
    case 'InvalidAccessKeyId':
    case 'SignatureDoesNotMatch':
      return `the credentials are refused (${name})`;
    case 'ExpiredToken':
      return 'the credentials have expired; renew them and resume';
    default:
      return null;
  }
}
