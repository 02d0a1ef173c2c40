import { createHash, createHmac } from 'node:crypto';

export interface SignedRequest {
  method: string;
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: string;
}

export interface AwsKey {
  service: string;
  region: string;
  id: string;
  key: string;
  /** Empty for long-term keys. */
  session: string;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** Returns the headers that sign a request with AWS Signature Version 4. @param nowMs since the epoch */
export function awsSignature(request: SignedRequest, aws: AwsKey, nowMs: number): Record<string, string> {
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const scope = [time.slice(0, 8), aws.region, aws.service, 'aws4_request'];
  const added = { 'x-amz-date': time, ...(aws.session === '' ? {} : { 'x-amz-security-token': aws.session }) };
  const headers = { ...request.headers, host: request.url.host, ...added };
  const names = Object.keys(headers)
    .map((name) => name.toLowerCase())
    .sort();
  const values = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()]));
  const signed = names.join(';');
  const canonical = [
    request.method,
    request.url.pathname,
    canonicalQuery(request.url),
    ...names.map((name) => `${name}:${values.get(name)!}`),
    '',
    signed,
    sha256(request.body),
  ].join('\n');
  const text = [ALGORITHM, time, scope.join('/'), sha256(canonical)].join('\n');
  const key = scope.reduce((secret: string | Buffer, part) => hmac(secret, part), `AWS4${aws.key}`);
  const signature = hmac(key, text).toString('hex');
  const credential = `${aws.id}/${scope.join('/')}`;
  return {
    ...added,
    authorization: `${ALGORITHM} Credential=${credential}, SignedHeaders=${signed}, Signature=${signature}`,
  };
}

function canonicalQuery({ searchParams }: URL): string {
  const encoded = (text: string): string =>
    encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  const pairs = [...searchParams].map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
  return pairs.sort().join('&');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
