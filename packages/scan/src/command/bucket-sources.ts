import { optionalText, toggle, type ValuesOf } from '@heddle/base/setting';
import { refused } from '@heddle/base/terminal/refusal';
import type { SourceSpec } from '../options.ts';

function endpoint(flag: string, description: string, example: string) {
  return optionalText(flag, description, {
    allowed: `an http or https address such as ${example}`,
    check: (given) => /^https?:$/.test(URL.parse(given)?.protocol ?? ''),
  });
}

/** The options of buckets. */
export const BUCKET_OPTIONS = {
  s3Endpoint: endpoint(
    '--s3-endpoint <url>',
    'URL of the S3 API, for services other than AWS',
    'http://127.0.0.1:9000',
  ),
  s3Region: optionalText('--s3-region <name>', 'Region of the buckets'),
  s3PathStyle: toggle('--s3-path-style', 'Put the bucket in the path of requests instead of the host name'),
  gcsEndpoint: endpoint(
    '--gcs-endpoint <url>',
    'URL of the API of Google Cloud Storage, such as of an emulator',
    'http://127.0.0.1:4443',
  ),
  azureEndpoint: endpoint(
    '--azure-endpoint <url>',
    'URL of the Azure storage account (default that of AZURE_STORAGE_ACCOUNT)',
    'https://account.blob.core.windows.net',
  ),
};

type BucketRequest = ValuesOf<typeof BUCKET_OPTIONS> & { readonly paths: readonly string[] };

const BUCKET = /^[a-z0-9][a-z0-9._-]{1,253}[a-z0-9]$/i;
/** A name of one of Azure's clouds; another server is named with --azure-endpoint. */
const AZURE_URL =
  /^(https:\/\/[a-z0-9-]+\.blob\.core\.(?:windows\.net|usgovcloudapi\.net|chinacloudapi\.cn))\/([^/?#]*)\/?(.*)$/i;

/** Returns the source of a bucket, or null if the path is none. */
export function bucketSource(path: string, request: BucketRequest): SourceSpec | null {
  const azure = AZURE_URL.exec(path);
  if (azure !== null) {
    const [, account = '', container = '', prefix = ''] = azure;
    return azureSource(path, container, prefix, account, `${account}/${container}`);
  }
  const [, scheme = '', bucket = '', prefix = ''] = /^(s3|gs|az):\/\/([^/]*)\/?(.*)$/is.exec(path) ?? [];
  switch (scheme.toLowerCase()) {
    case 's3':
      return s3Source(named(path, bucket), prefix, request);
    case 'gs': {
      const { gcsEndpoint: address } = request;
      return { type: 'gcs', bucket: named(path, bucket), ...prefixOf(prefix), ...endpointOf(address) };
    }
    case 'az':
      return azureSource(path, bucket, prefix, request.azureEndpoint, `az://${bucket}`);
    default:
      return null;
  }
}

function azureSource(
  path: string,
  container: string,
  prefix: string,
  account: string | null,
  address: string,
): SourceSpec {
  if (path.includes('?'))
    throw refused(
      `${path.replace(/\?.*$/s, '?…')}: a SAS does not belong in an argument; set AZURE_STORAGE_SAS_TOKEN to it`,
    );
  return { type: 'azure', container: named(path, container), ...prefixOf(prefix), ...endpointOf(account), address };
}

function s3Source(bucket: string, prefix: string, request: BucketRequest): SourceSpec {
  const { s3Endpoint, s3Region, s3PathStyle } = request;
  return {
    type: 's3',
    bucket,
    ...prefixOf(prefix),
    ...endpointOf(s3Endpoint),
    ...(s3Region === null ? {} : { region: s3Region }),
    force_path_style: s3PathStyle,
  };
}

function named(path: string, bucket: string): string {
  if (BUCKET.test(bucket) || bucket === '$web' || bucket === '$root') return bucket;
  const start = /^(?:[a-z0-9]+:\/\/)(?:[^/]*\.blob\.[^/]*\/)?/i.exec(path)![0];
  throw refused(`${path}: has no bucket; it must be ${start}bucket or ${start}bucket/prefix`);
}

function prefixOf(prefix: string): { prefix?: string } {
  return prefix === '' ? {} : { prefix };
}

function endpointOf(address: string | null): { endpoint?: string } {
  return address === null ? {} : { endpoint: address.replace(/\/+$/, '') };
}

/** Refuses options without a path that they apply to. */
export function refuseBucketContradictions(request: BucketRequest): void {
  const { paths, s3Endpoint, s3Region, s3PathStyle, gcsEndpoint, azureEndpoint } = request;
  const needs = (scheme: string, flags: Readonly<Record<string, boolean>>): void => {
    const given = Object.entries(flags).find(([, isGiven]) => isGiven)?.[0];
    if (given === undefined || paths.some((path) => path.toLowerCase().startsWith(scheme))) return;
    throw refused(`${given} needs a path such as ${scheme}bucket/prefix`);
  };
  needs('s3://', {
    '--s3-endpoint': s3Endpoint !== null,
    '--s3-region': s3Region !== null,
    '--s3-path-style': s3PathStyle,
  });
  needs('gs://', { '--gcs-endpoint': gcsEndpoint !== null });
  needs('az://', { '--azure-endpoint': azureEndpoint !== null });
}
