/** Formats the results for a terminal. */

/** The displayed members of a model from the API. */
export interface ShownModel {
  model: string;
  key: string;
  state: string;
  data: Readonly<Record<string, unknown>>;
}

const DAY_MS = 86_400_000;
const LABELS: Readonly<Record<string, string>> = {
  host: 'hosts',
  service: 'services',
  name: 'names',
  tls: 'TLS endpoints',
  certificate: 'certificates',
};

/** Counts by type, and the certificates with their problems. */
export async function reportOf(models: AsyncIterable<ShownModel>): Promise<string> {
  const counts = new Map<string, number>();
  const certificates: string[][] = [];
  const endpointFindings = new Map<string, string[]>();
  for await (const { model, key, state, data } of models) {
    if (state === 'gone') continue;
    counts.set(model, (counts.get(model) ?? 0) + 1);
    const findings = textsOf(data['findings']);
    if (model === 'tls') {
      const certificate = String(data['certificate']);
      endpointFindings.set(certificate, [...(endpointFindings.get(certificate) ?? []), ...findings]);
    }
    if (model === 'certificate') {
      const at = textsOf(data['endpoints'])[0] ?? '';
      certificates.push([key, String(data['subject_cn']), at, expiryOf(String(data['not_after'])), ...findings]);
    }
  }
  const found = Object.entries(LABELS).map(([model, label]) => `${counts.get(model) ?? 0} ${label}`);
  const rows = certificates.map(([key, subject, at, expiry, ...findings]) => {
    const all = [...new Set([...findings, ...(endpointFindings.get(key!) ?? [])])];
    return [subject!, at!, expiry!, all.join(', ').replaceAll('_', ' ')];
  });
  return [`found: ${found.join(', ')}`, '', ...tableOf(['certificate', 'at', 'validity', 'findings'], rows)].join('\n');
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function expiryOf(notAfter: string): string {
  const days = Math.floor(Math.abs(Date.parse(notAfter) - Date.now()) / DAY_MS);
  return Date.parse(notAfter) < Date.now() ? `expired ${days} days ago` : `${days} more days`;
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const sorted = rows.toSorted((one, other) => one.join().localeCompare(other.join()));
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  return [head, ...sorted].map((row) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')}`.trimEnd(),
  );
}
