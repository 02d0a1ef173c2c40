import { FieldReader, ruleError, type TomlTable } from './fields.ts';
import type {
  AnswerCondition,
  AwsSignature,
  Companion,
  HttpVerification,
  VerificationSpec,
} from './verification-spec.ts';

const METHODS = ['GET', 'HEAD', 'POST'] as const;
const PLACES = ['nearby', 'match', 'secret'] as const;

/** `{{name}}`, or `{{+name}}` for a value that keeps its slashes in a URL. */
export const PLACEHOLDER = /\{\{(\+?)([^{}]*)\}\}/g;

/** A host may have placeholders only before a domain that the rule itself names. */
const HOST = /^(?:\{\{[a-z_]+\}\}|[a-z0-9-]+)(?:\.(?:\{\{[a-z_]+\}\}|[a-z0-9-]+))*$/;
const HOST_LITERAL_END = /(?:^|\.)[a-z0-9-]+\.[a-z]{2,}$/;

/** Reads the description of a verification. Throws HeddleError with file, rule and field. */
export function readVerification(name: string, table: TomlTable, where: string, warnings: string[]): VerificationSpec {
  const reader = new FieldReader(table, where);
  const provider = reader.string('provider') ?? name;
  reader.string('docs');
  const companions = reader.tables('companions').map((each) => readCompanion(each, where, warnings));
  const local = reader.string('local');
  if (local !== undefined && local !== 'jwt') throw ruleError(where, 'local must be "jwt"');
  const spec = local === 'jwt' ? ({ type: 'jwt', name, provider, companions } as const) : undefined;
  const read = spec ?? readHttp(reader, { name, provider, companions }, warnings);
  warnings.push(...reader.unknown());
  return read;
}

function readHttp(
  reader: FieldReader,
  named: Pick<HttpVerification, 'name' | 'provider' | 'companions'>,
  warnings: string[],
): HttpVerification {
  const { where } = reader;
  const method = METHODS.find((each) => each === (reader.string('method') ?? 'GET'));
  if (method === undefined) throw ruleError(where, `method must be one of ${METHODS.join(', ')}`);
  const url = reader.string('url');
  if (url === undefined) throw ruleError(where, 'it has no url; write url = "https://..."');
  if (!url.startsWith('/')) requireHost(where, url);
  const [basic, json] = [reader.string('basic'), reader.string('json')];
  const form = texts(reader, 'form');
  const sign = readSignature(reader.table('sign'), where, warnings);
  if (json !== undefined && form !== undefined) throw ruleError(where, 'it has both json and form; keep one of them');
  if ((json ?? form) !== undefined && method !== 'POST') throw ruleError(where, 'a body needs method = "POST"');
  const spec: HttpVerification = {
    type: 'http',
    ...named,
    method,
    url,
    headers: texts(reader, 'headers') ?? {},
    active: readConditions(reader, 'active', warnings),
    inactive: readConditions(reader, 'inactive', warnings),
    ...(reader.has('endpoint_inactive') && {
      endpoint_inactive: readConditions(reader, 'endpoint_inactive', warnings),
    }),
    identity: readLocations(reader, 'identity'),
    permissions: readLocations(reader, 'permissions'),
    ...(basic !== undefined && { basic }),
    ...(json !== undefined && { json }),
    ...(form !== undefined && { form }),
    ...(sign !== undefined && { sign }),
  };
  requirePlaceholders(where, spec);
  return spec;
}

function requireHost(where: string, url: string): void {
  const [, host = ''] = /^https:\/\/([^/?#]+)/.exec(url) ?? [];
  if (host === '')
    throw ruleError(
      where,
      'url must begin with https:// and a host, or with / if it is asked at addresses of --verify-endpoint only',
    );
  if (!HOST.test(host) || !HOST_LITERAL_END.test(host))
    throw ruleError(where, 'the host of url must end with a domain such as example.com, without placeholders in it');
  if (host.includes('{{secret}}')) throw ruleError(where, 'the host of url must not contain the secret');
}

/** Every placeholder has a value, and the secret is used, or a part of it. */
function requirePlaceholders(where: string, spec: HttpVerification): void {
  const known = ['secret', ...spec.companions.map(({ name }) => name)];
  const { url, headers, basic = '', form = {}, json = '', sign } = spec;
  const fields: Record<string, readonly string[]> = {
    url: [url],
    headers: Object.values(headers),
    basic: [basic],
    form: Object.values(form),
    json: [json],
    sign: sign === undefined ? [] : [sign.id, sign.key, sign.session],
  };
  const used = new Set<string>();
  for (const [field, templates] of Object.entries(fields)) {
    for (const [whole, , name = ''] of templates.flatMap((each) => [...each.matchAll(PLACEHOLDER)])) {
      if (!known.includes(name))
        throw ruleError(where, `${field} has ${whole}, but the values are ${known.join(', ')}; add it to companions`);
      used.add(name);
    }
  }
  const parts = spec.companions.filter(({ of }) => of !== 'nearby').map(({ name }) => name);
  if (!['secret', ...parts].some((name) => used.has(name)))
    throw ruleError(where, 'its request does not contain the secret; write {{secret}} where it belongs');
}

function readCompanion(table: TomlTable, where: string, warnings: string[]): Companion {
  const reader = new FieldReader(table, `${where}: companions`);
  const name = reader.string('name') ?? '';
  if (!/^[a-z_]+$/.test(name) || name === 'secret')
    throw ruleError(reader.where, 'name must consist of a-z and _, and not be "secret"');
  const regex = reader.string('regex');
  if (regex === undefined || regex === '')
    throw ruleError(reader.where, `${name} has no regex; write regex = '''...'''`);
  const of = PLACES.find((each) => each === (reader.string('of') ?? 'nearby'));
  if (of === undefined) throw ruleError(reader.where, `of must be one of ${PLACES.join(', ')}`);
  const optional = reader.boolean('optional') ?? false;
  warnings.push(...reader.unknown());
  return { name, regex, of, optional };
}

function readSignature(table: TomlTable | undefined, where: string, warnings: string[]): AwsSignature | undefined {
  if (table === undefined) return undefined;
  const reader = new FieldReader(table, `${where}: sign`);
  const required = (name: string): string => {
    const value = reader.string(name);
    if (value === undefined) throw ruleError(reader.where, `it has no ${name}; write ${name} = "..."`);
    return value;
  };
  const [service, region, id, key] = [required('service'), required('region'), required('id'), required('key')];
  const session = reader.string('session') ?? '';
  warnings.push(...reader.unknown());
  return { service, region, id, key, session };
}

function texts(reader: FieldReader, name: string): Record<string, string> | undefined {
  const table = reader.table(name);
  if (table === undefined) return undefined;
  const inner = new FieldReader(table, `${reader.where}: ${name}`);
  return Object.fromEntries(Object.keys(table).map((key) => [key, inner.string(key) ?? '']));
}

/** Reads status codes, or tables of conditions; of a list any one suffices. */
function readConditions(reader: FieldReader, name: string, warnings: string[]): AnswerCondition[] {
  const given = reader.list(name);
  if (!reader.has(name)) throw ruleError(reader.where, `it has no ${name}; write ${name} = [200] or a list of tables`);
  const statuses = given.filter((each) => typeof each === 'number');
  const tables = given.filter((each) => typeof each === 'object') as TomlTable[];
  if (statuses.length + tables.length !== given.length)
    throw ruleError(reader.where, `${name} must be a list of status codes and tables`);
  const whole = statuses.length === 0 ? [] : [{ status: statuses }];
  return [...whole, ...tables.map((table) => readCondition(table, `${reader.where}: ${name}`, warnings))];
}

function readCondition(table: TomlTable, where: string, warnings: string[]): AnswerCondition {
  const reader = new FieldReader(table, where);
  const status = reader.list('status');
  if (!status.every((each) => typeof each === 'number')) throw ruleError(where, 'status must be a list of numbers');
  const pointer = reader.string('pointer');
  if (pointer !== undefined && !pointer.startsWith('/')) throw ruleError(where, 'pointer must begin with /');
  const equals = reader.list('equals') as (string | number | boolean)[];
  if (!equals.every((each) => ['string', 'number', 'boolean'].includes(typeof each)))
    throw ruleError(where, 'equals must be a list of strings, numbers, true and false');
  const exists = reader.boolean('exists');
  const text = reader.strings('text');
  warnings.push(...reader.unknown());
  if (pointer === undefined && (equals.length > 0 || exists !== undefined))
    throw ruleError(where, 'equals and exists need a pointer');
  if (pointer !== undefined && equals.length === 0 && exists === undefined)
    throw ruleError(where, 'pointer needs equals or exists');
  if (status.length + text.length === 0 && pointer === undefined)
    throw ruleError(where, 'a condition is empty; give it status, pointer or text');
  return {
    ...(status.length > 0 && { status }),
    ...(pointer !== undefined && { pointer }),
    ...(equals.length > 0 && { equals }),
    ...(exists !== undefined && { exists }),
    ...(text.length > 0 && { text }),
  };
}

function readLocations(reader: FieldReader, name: string): string[] {
  const locations = reader.strings(name);
  const wrong = locations.find((each) => !/^(?:\/|header:[a-z0-9-]+$)/.test(each));
  if (wrong !== undefined)
    throw ruleError(reader.where, `${name} must be JSON pointers such as /login, or header:name (got "${wrong}")`);
  return locations;
}
