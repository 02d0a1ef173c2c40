import { createHash } from 'node:crypto';

import type { OutboundRequest } from '@heddle/base/outbound/send';
import type { HttpVerification } from '../detect/rules/verification-spec.ts';
import { awsSignature } from './aws-signature.ts';
import { pathOf } from './endpoint.ts';
import { filled } from './template.ts';

/** A request that verifies one secret. */
export interface VerificationRequest {
  /** The same for the same request, and says nothing of the secret: 64 hexadecimal digits. */
  key: string;
  /** Host and port, of which the rate is limited. */
  host: string;
  /** Made when it is sent: signatures depend on the time, milliseconds since the epoch. */
  at: (nowMs: number) => OutboundRequest;
}

/**
 * Builds the request of a secret.
 *
 * @param values the secret and its companions
 * @param endpoint the address in place of the description's own; null for that one
 * @throws UnusableValue
 */
export function buildRequest(
  spec: HttpVerification,
  values: Readonly<Record<string, string>>,
  endpoint: string | null,
  userAgent: string,
): VerificationRequest {
  const { method, sign } = spec;
  const template = endpoint === null ? spec.url : endpoint + pathOf(spec.url);
  const url = new URL(filled(template, values, 'url'));
  const { body, type } = bodyOf(spec, values);
  const headers: Record<string, string> = {
    'user-agent': userAgent,
    accept: 'application/json',
    ...(type === null ? {} : { 'content-type': type }),
  };
  for (const [name, value] of Object.entries(spec.headers))
    headers[name.toLowerCase()] = filled(value, values, 'header');
  if (spec.basic !== undefined)
    headers['authorization'] = `Basic ${Buffer.from(filled(spec.basic, values, 'form')).toString('base64')}`;
  const aws = sign === undefined ? null : { ...sign, ...keyOf(sign, values) };
  const key = createHash('sha256')
    .update(JSON.stringify([method, url.href, headers, body, aws]))
    .digest('hex');
  const at = (nowMs: number): OutboundRequest => {
    const own = { host: url.host, accept: headers['accept']!, ...amazonHeaders(headers) };
    const signature = aws === null ? {} : awsSignature({ method, url, headers: own, body: body ?? '' }, aws, nowMs);
    return { url, method, headers: { ...headers, ...signature }, body };
  };
  return { key, host: url.host, at };
}

/** Headers that S3 accepts only if they are signed. */
function amazonHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-amz-')));
}

function keyOf({ id, key, session }: NonNullable<HttpVerification['sign']>, values: Readonly<Record<string, string>>) {
  const text = (template: string): string => filled(template, values, 'header');
  return { id: text(id), key: text(key), session: text(session) };
}

function bodyOf({ form, json }: HttpVerification, values: Readonly<Record<string, string>>) {
  if (json !== undefined) return { body: filled(json, values, 'json'), type: 'application/json' };
  if (form === undefined) return { body: null, type: null };
  const fields = Object.entries(form).map(([name, value]): [string, string] => [name, filled(value, values, 'form')]);
  return { body: new URLSearchParams(fields).toString(), type: 'application/x-www-form-urlencoded' };
}
