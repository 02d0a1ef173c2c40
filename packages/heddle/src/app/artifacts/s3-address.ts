/** Where contents of artifacts are: `s3://BUCKET/PREFIX?region=…&endpoint=http://…`. */
export interface S3Address {
  bucket: string;
  /** Ends with a slash, or is empty. */
  prefix: string;
  /** Absent: that of the environment. */
  region?: string;
  /** Another service with the same API; absent: Amazon's. */
  endpoint?: string;
}

const OPTIONS = ['region', 'endpoint'];
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[A-Za-z0-9!_.*'()/-]{0,300}$/;

/** @throws Error that names the invalid part */
export function parseS3Address(text: string): S3Address {
  const url = URL.parse(text);
  if (url?.protocol !== 's3:') throw new Error('must begin with s3://');
  if (!BUCKET.test(url.host)) throw new Error('must name a bucket: s3://BUCKET/PREFIX');
  const path = url.pathname.replace(/^\/|\/$/g, '');
  if (!PREFIX.test(path) || path.includes('//'))
    throw new Error("has a prefix with other characters than A-Z a-z 0-9 ! _ . * ' ( ) / -");
  for (const option of url.searchParams.keys()) {
    if (!OPTIONS.includes(option)) throw new Error(`has an unknown option "${option}"; known: ${OPTIONS.join(', ')}`);
  }
  const [region, endpoint] = [url.searchParams.get('region'), url.searchParams.get('endpoint')];
  if (endpoint !== null && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) {
    throw new Error('has an endpoint that is not an http or https URL');
  }
  return {
    bucket: url.host,
    prefix: path === '' ? '' : `${path}/`,
    ...(region === null ? {} : { region }),
    ...(endpoint === null ? {} : { endpoint }),
  };
}
