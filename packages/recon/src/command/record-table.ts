import type { Style } from '@heddle/base/terminal/output';
import { displayWidth, pad, printable } from '@heddle/base/terminal/text';
import type { DnsRecord, PortRecord, ReconRecord, TlsRecord } from '../records.ts';
import type { ReconRequest } from './options.ts';

interface ReconColumn<Row> {
  header: string;
  /** Records arrive one by one, so columns fit the usual values and grow if one is wider. */
  width: number;
  value: (row: Row) => string;
  style?: (row: Row) => Style | null;
}

type Paint = (style: Style, text: string) => string;

const GAP = '  ';

const PORT_COLUMNS: readonly ReconColumn<PortRecord>[] = [
  { header: 'ADDRESS', width: 21, value: addressOf },
  {
    header: 'STATE',
    width: 8,
    value: ({ state }) => state,
    style: ({ state }) => (state === 'open' ? 'green' : state === 'filtered' ? 'yellow' : null),
  },
  { header: 'REASON', width: 11, value: ({ reason }) => reason },
  { header: 'METHOD', width: 7, value: ({ method }) => method },
  { header: 'RTT', width: 9, value: ({ rtt_ms }) => (rtt_ms === null ? '-' : `${rtt_ms.toFixed(2)} ms`) },
  { header: 'NAME', width: 9, value: nameOf },
];

const BANNER_COLUMN: ReconColumn<PortRecord> = { header: 'BANNER', width: 6, value: ({ banner = '' }) => banner };

const DNS_COLUMNS: readonly ReconColumn<DnsRecord>[] = [
  { header: 'NAME', width: 32, value: ({ host }) => host },
  { header: 'TYPE', width: 5, value: ({ query_type }) => query_type },
  {
    header: 'STATUS',
    width: 9,
    value: ({ status_code }) => status_code,
    style: ({ status_code }) => (status_code === 'NOERROR' ? null : 'yellow'),
  },
  { header: 'TTL', width: 6, value: ({ ttl }) => (ttl === null ? '-' : String(ttl)) },
  { header: 'ANSWER', width: 6, value: answersOf },
];

const TLS_COLUMNS: readonly ReconColumn<TlsRecord>[] = [
  { header: 'ADDRESS', width: 21, value: addressOf },
  { header: 'VERSION', width: 7, value: (record) => record.version_enum?.join('+') ?? record.tls_version ?? '-' },
  { header: 'CIPHER', width: 28, value: ({ cipher }) => cipher ?? '-' },
  { header: 'NOT AFTER', width: 10, value: ({ not_after }) => not_after?.slice(0, 10) ?? '-' },
  { header: 'NAMES', width: 28, value: namesOf },
  {
    header: 'FINDINGS',
    width: 8,
    value: ({ findings = [], error }) => [...findings, ...(error === undefined ? [] : [error])].join(', '),
    style: ({ probe_status }) => (probe_status ? 'yellow' : 'red'),
  },
];

/** Formats records as rows; the first one is preceded by the headers. */
export function recordTable(request: ReconRequest, paint: Paint): (record: ReconRecord) => string {
  switch (request.probe) {
    case 'tcp':
      return rowsOf(request.banner ? [...PORT_COLUMNS, BANNER_COLUMN] : PORT_COLUMNS, paint) as (
        record: ReconRecord,
      ) => string;
    case 'dns':
      return rowsOf(DNS_COLUMNS, paint) as (record: ReconRecord) => string;
    case 'tls':
      return rowsOf(TLS_COLUMNS, paint) as (record: ReconRecord) => string;
  }
}

function rowsOf<Row>(columns: readonly ReconColumn<Row>[], paint: Paint): (row: Row) => string {
  const widths = columns.map(({ width }) => width);
  let isFirst = true;
  const line = (cells: readonly string[], style: (index: number) => Style | null): string => {
    const padded = cells.map((cell, index) => {
      const text = index === columns.length - 1 ? cell : pad(cell, widths[index]!);
      const chosen = style(index);
      return chosen === null || cell === '' ? text : paint(chosen, text);
    });
    return `${padded.join(GAP).trimEnd()}\n`;
  };
  return (row) => {
    const cells = columns.map(({ value }) => printable(value(row)));
    cells.forEach((cell, index) => (widths[index] = Math.max(widths[index]!, displayWidth(cell))));
    const text = line(cells, (index) => columns[index]!.style?.(row) ?? null);
    if (!isFirst) return text;
    isFirst = false;
    const headers = columns.map(({ header }) => header);
    return `${line(headers, () => 'bold')}${text}`;
  };
}

function addressOf({ ip, port }: PortRecord | TlsRecord): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}

function nameOf({ host, ip }: PortRecord): string {
  return host === ip ? '' : host;
}

/** The requested names, followed by those of the certificate. */
function namesOf({ host, ip, subject_an = [], subject_cn }: TlsRecord): string {
  const names = [host === ip ? null : host, ...subject_an, subject_cn ?? null];
  return [...new Set(names.filter((name) => name !== null))].join(', ') || '-';
}

function answersOf(record: DnsRecord): string {
  const { a = [], aaaa = [], cname = [], mx = [], ns = [], txt = [], soa = [], srv = [], caa = [], ptr = [] } = record;
  const answers = [
    ...cname.map((name) => `-> ${name}`),
    ...a,
    ...aaaa,
    ...mx.map(({ preference, exchange }) => `${preference} ${exchange}`),
    ...ns,
    ...txt.map((text) => JSON.stringify(text)),
    ...soa.map(({ mname, rname, serial }) => `${mname} ${rname} ${serial}`),
    ...srv.map(({ priority, weight, port, target }) => `${priority} ${weight} ${port} ${target}`),
    ...caa.map(({ flags, tag, value }) => `${flags} ${tag} ${JSON.stringify(value)}`),
    ...ptr,
  ];
  const mark = record.wildcard === true ? ' (wildcard)' : '';
  return `${answers.join(', ')}${mark}`.trim() || '-';
}
