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
  expired: 'The certificate has expired: renew it',
  not_yet_valid: 'The certificate is not valid yet: check its dates and the clock of the server',
  self_signed: 'The certificate is self-signed: browsers and programs refuse it unless they know it',
  mismatched: 'The certificate does not cover the host name: issue one that lists it',
  untrusted: 'No authority trusted by this machine issued the certificate',
  weak_key: 'The key is too short: issue a certificate with a longer one',
  weak_signature: 'The signature uses a broken hash: issue the certificate again',
  weak_version: 'The server accepts SSL 3.0, TLS 1.0 or TLS 1.1: turn them off',
  weak_cipher: 'The server accepts broken ciphers: turn them off',
  broken_chain: 'The chain sent does not lead to the issuer: send the intermediate certificates too',
};

/** Expected with a private certificate authority; the other problems always need attention. */
const MILD = new Set(['untrusted', 'self_signed']);

export function ProblemChips({ problems }: { problems: readonly string[] }) {
  if (problems.length === 0) return <span className="quiet">none</span>;
  return (
    <ul className="chips">
      {problems.map((problem) => (
        <li key={problem} className="chip" data-mild={MILD.has(problem)} title={MEANINGS[problem]}>
          {WORDS[problem] ?? problem}
        </li>
      ))}
    </ul>
  );
}
