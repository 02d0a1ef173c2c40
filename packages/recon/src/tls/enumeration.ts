import type { TlsVersion } from '../records.ts';
import { cipherName, ciphersOf } from './cipher-suites.ts';
import type { TlsFault } from './fault.ts';
import type { Greeting } from './greeting.ts';
import { TLS_VERSIONS } from './protocol.ts';

/** A question of an enumeration: whether any of these are accepted. */
export interface Question {
  readonly version: TlsVersion;
  readonly ciphers: readonly number[];
}

export type Ask = (question: Question) => Promise<Greeting>;

export interface VersionEnumeration {
  /** Newest first. */
  readonly versions: TlsVersion[];
  /** The answer in the newest of them that was queried here. */
  readonly best: Greeting | null;
  /** Why it is incomplete. */
  readonly fault: TlsFault | null;
}

/** Silent answers after which a server is not queried any more. */
const SILENCES_MAX = 2;

/** @param known the version chosen when all were on offer; null if all were refused */
export async function enumerateVersions(ask: Ask, known: TlsVersion | null): Promise<VersionEnumeration> {
  const versions: TlsVersion[] = known === null ? [] : [known];
  let best: Greeting | null = null;
  let silences = 0;
  for (const version of TLS_VERSIONS.toReversed()) {
    const oldest = versions.at(-1);
    if (oldest !== undefined && TLS_VERSIONS.indexOf(version) >= TLS_VERSIONS.indexOf(oldest)) continue;
    const greeting = await ask({ version, ciphers: ciphersOf(version) });
    const answered = greeting.server_hello?.version;
    if (answered !== undefined && TLS_VERSIONS.indexOf(answered) <= TLS_VERSIONS.indexOf(version)) {
      // A version older than requested means that those in between are not accepted.
      versions.push(answered);
      best ??= greeting;
    } else if (isSilent(greeting.fault) && ++silences >= SILENCES_MAX) return { versions, best, fault: greeting.fault };
  }
  return { versions, best, fault: null };
}

/** Returns the suites that a server accepts in one version, in its order of preference among those left. */
export async function enumerateCiphers(
  ask: Ask,
  version: TlsVersion,
): Promise<{ ciphers: string[]; fault: TlsFault | null }> {
  const left = new Set(ciphersOf(version));
  const ciphers: string[] = [];
  let silences = 0;
  while (left.size > 0) {
    const { server_hello, fault } = await ask({ version, ciphers: [...left] });
    if (server_hello?.version === version && left.delete(server_hello.cipher)) {
      ciphers.push(cipherName(server_hello.cipher));
    } else if (fault === null || fault.kind === 'refused') break;
    else if (!isSilent(fault) || ++silences >= SILENCES_MAX) return { ciphers, fault };
  }
  return { ciphers, fault: null };
}

function isSilent(fault: TlsFault | null): boolean {
  return fault?.kind === 'silent' || fault?.kind === 'unreachable';
}
