/** Labels of the problems of a certificate or endpoint. */
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
  expired: 'The certificate has expired',
  not_yet_valid: 'The certificate is not valid yet',
  self_signed: 'The certificate is self-signed',
  mismatched: 'The certificate does not cover the host name',
  untrusted: 'No authority trusted by this machine issued the certificate',
  weak_key: 'The key is too short',
  weak_signature: 'The signature uses a broken hash',
  weak_version: 'The server accepts SSL 3.0, TLS 1.0 or TLS 1.1',
  weak_cipher: 'The server accepts broken ciphers',
  broken_chain: 'The chain sent does not lead to the issuer',
};

/** Expected with a private certificate authority; the other findings are always problems. */
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
