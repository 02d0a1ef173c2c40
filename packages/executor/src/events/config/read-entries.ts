import { Faults, isObject, shown } from '@heddle/base/parse/faults';
import { Members } from '@heddle/base/parse/members';
import { placeOf, type Place } from '@heddle/base/parse/path';
import { TIERS } from '../../protocol/messages.ts';
import { codePathFault } from '../code-path.ts';
import { type EntrySignature, EVENT_NAME, type EventEntry } from './event-entry.ts';
import { type EventListDocument, readDocument, refused } from './read-document.ts';
import { ORIGIN_MEMBERS, readOrigin } from './read-origin.ts';
import { readSigners, type Signers } from './signers.ts';

const EVENTS_MAX = 10_000;
const TOP_MEMBERS = ['events', 'signers', 'require_signatures', 'git_protocols'] as const;
const GIT_PROTOCOLS = ['https', 'http', 'git', 'file'] as const;
const ENTRY_MEMBERS = [
  ...['name', 'type', 'entry', 'sha256', 'signed_by', 'signature'],
  ...['ephemeral', 'tier', 'timeout_secs', 'memory_mb'],
] as const;

export type GitProtocol = (typeof GIT_PROTOCOLS)[number];

export interface ReadEntriesOptions {
  /** Allowed schemes of git URLs if the list sets none. */
  gitProtocols: readonly GitProtocol[];
}

interface ListRules extends ReadEntriesOptions {
  list: EventListDocument;
  signers: Signers;
  requireSignatures: boolean;
}

/**
 * Reads the event list: an array, or an object with `events`.
 *
 * @param given path of a file, or the list itself
 * @throws HeddleError VALIDATION_FAILED with one detail per fault, naming the entry
 */
export async function readEntries(given: string, options: ReadEntriesOptions): Promise<EventEntry[]> {
  const document = await readDocument(given);
  const { content } = document;
  const faults = new Faults();
  const top = new Members(isObject(content) ? content : { events: content }, placeOf(null, 'file'), faults);
  top.refuseOthers(TOP_MEMBERS);
  top.requireAll('events');
  const rules: ListRules = {
    gitProtocols: gitProtocolsOf(top) ?? options.gitProtocols,
    list: document,
    signers: readSigners(top),
    requireSignatures: top.boolean('require_signatures') ?? false,
  };
  const list = top.raw('events') ?? [];
  if (!Array.isArray(list)) top.fault('events', `must be a list (got ${shown(list)})`);
  else if (list.length > EVENTS_MAX)
    top.fault('events', `must have at most ${EVENTS_MAX} entries (got ${list.length})`);
  const raw: unknown[] = Array.isArray(list) ? list.slice(0, EVENTS_MAX) : [];
  const entries = raw.flatMap((value, index) => entryOf(value, index, rules, faults) ?? []);
  if (faults.list.length > 0) throw refused(document.name, faults.list);
  return entries;
}

/** Returns the schemes set by the list; null if it sets none. */
function gitProtocolsOf(top: Members): readonly GitProtocol[] | null {
  const value = top.raw('git_protocols') ?? null;
  if (value === null) return null;
  const isKnown = (one: unknown): one is GitProtocol => GIT_PROTOCOLS.some((protocol) => protocol === one);
  if (Array.isArray(value) && value.every(isKnown)) return value;
  top.fault('git_protocols', `must be a list of ${GIT_PROTOCOLS.join(', ')}`);
  return null;
}

function entryOf(value: unknown, index: number, rules: ListRules, faults: Faults): EventEntry | null {
  const place = placeOf(placeOf(null, 'events'), index);
  if (!isObject(value)) {
    faults.add(place, `must be an object (got ${shown(value)})`);
    return null;
  }
  const entry = new Members(value, place, faults);
  const origin = readOrigin(entry, { directory: rules.list.directory, gitProtocols: rules.gitProtocols });
  if (origin !== null) entry.refuseOthers([...ENTRY_MEMBERS, ...ORIGIN_MEMBERS[origin.type]]);
  const read = {
    name: nameOf(entry),
    entry: moduleOf(entry),
    sha256: digestOf(entry),
    signature: signatureOf(entry, place, rules),
    ephemeral: entry.boolean('ephemeral'),
    tier: entry.oneOf('tier', TIERS),
    timeout_secs: entry.integer('timeout_secs', 1, 86_400),
    memory_mb: entry.integer('memory_mb', 16, 65_536),
  };
  if (origin?.type === 'local' && read.ephemeral === true) {
    entry.fault('ephemeral', 'must not be true for a local event; it applies to npm and git');
  }
  if (origin === null || read.name === null) return null;
  const ephemeral = read.ephemeral ?? origin.type !== 'local';
  return { ...read, name: read.name, origin, ephemeral, place: `events[${index}] of ${rules.list.name}` };
}

function nameOf(entry: Members): string | null {
  entry.requireAll('name');
  const name = entry.text('name', 200);
  if (name === null || EVENT_NAME.test(name)) return name;
  entry.fault('name', 'must have 1 to 200 characters of A-Z, a-z, 0-9, "_", "." and "-"');
  return null;
}

function moduleOf(entry: Members): string | null {
  const path = entry.text('entry', 1_000);
  const fault = path === null ? null : codePathFault(path);
  if (fault === null) return path;
  entry.fault('entry', `${fault}; give the module's path relative to the code's directory, such as "lib/event.js"`);
  return null;
}

function digestOf(entry: Members): string | null {
  const digest = entry.text('sha256', 200);
  if (digest === null || /^[0-9a-f]{64}$/.test(digest)) return digest;
  entry.fault('sha256', 'must be 64 hexadecimal digits in lower case');
  return null;
}

function signatureOf(entry: Members, place: Place, { signers, requireSignatures }: ListRules): EntrySignature | null {
  const signer = entry.text('signed_by', 100);
  const written = entry.text('signature', 200);
  if (signer === null && written === null) {
    if (requireSignatures) entry.faults.add(place, 'must be signed; set signed_by and signature');
    return null;
  }
  entry.requireAll('signed_by', 'signature');
  if (signer === null || written === null) return null;
  const publicKey = signers.get(signer);
  if (publicKey === undefined) entry.fault('signed_by', 'must name one of the signers');
  const value = Buffer.from(written, 'base64');
  if (value.length !== 64 || value.toString('base64') !== written) {
    entry.fault('signature', 'must be an Ed25519 signature: 64 bytes in base64');
    return null;
  }
  return publicKey === undefined ? null : { public_key: publicKey, value };
}
