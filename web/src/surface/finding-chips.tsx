/** What is wrong with a certificate or an endpoint, for people. */
const WORDS: Readonly<Record<string, string>> = {
  expired: 'expired',
  not_yet_valid: 'not yet valid',
  self_signed: 'self-signed',
  mismatched: 'wrong name',
  untrusted: 'untrusted',
  weak_key: 'weak key',
  weak_signature: 'weak signature',
  weak_version: 'old TLS version',
  weak_cipher: 'weak cipher',
  broken_chain: 'broken chain',
};

const MEANINGS: Readonly<Record<string, string>> = {
  expired: 'It is no longer valid',
  not_yet_valid: 'It is not valid yet',
  self_signed: 'Nobody but itself signed it',
  mismatched: 'It does not name the host that it stands for',
  untrusted: 'No authority that this machine trusts stands behind it',
  weak_key: 'Its key is too short',
  weak_signature: 'It is signed with a hash that is broken',
  weak_version: 'It takes SSL 3.0, TLS 1.0 or TLS 1.1',
  weak_cipher: 'It takes ciphers that are broken',
  broken_chain: 'What it sends does not lead to its issuer',
};

/** Of these, an authority of one's own explains them; the others nobody wants. */
const MILD = new Set(['untrusted', 'self_signed']);

export function FindingChips({ findings }: { findings: readonly string[] }) {
  if (findings.length === 0) return <span className="quiet">none</span>;
  return (
    <ul className="chips">
      {findings.map((finding) => (
        <li key={finding} className="chip" data-mild={MILD.has(finding)} title={MEANINGS[finding]}>
          {WORDS[finding] ?? finding}
        </li>
      ))}
    </ul>
  );
}
