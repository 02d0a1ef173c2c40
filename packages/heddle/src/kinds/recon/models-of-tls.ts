import type { ReportedModel } from '@heddle/core/domain/model-record';
import type { TlsFinding, TlsRecord } from '@heddle/recon/records';
import { fitted, present, sorted } from './fitted.ts';
import { addressAndPort } from './models-of-ports.ts';

/** Findings that concern the certificate, wherever it is used; the others concern the endpoint. */
const OF_CERTIFICATE: readonly TlsFinding[] = [
  'expired',
  'not_yet_valid',
  'self_signed',
  'untrusted',
  'weak_key',
  'weak_signature',
];

/** Converts a handshake to models: the TLS endpoint and its certificate. */
export function modelsOfTls(record: TlsRecord): ReportedModel[] {
  if (!record.probe_status) return [];
  const { ip, port, sni } = record;
  const endpoint = addressAndPort(ip, port);
  const key = sni === null ? endpoint : `${endpoint}/${sni}`;
  const models: ReportedModel[] = [{ model: 'tls', key, data: fitted(endpointData(record)) }];
  const sha256 = record.fingerprint_hash?.sha256;
  if (sha256 !== undefined) {
    models.push({ model: 'certificate', key: sha256, data: fitted(certificateData(record, endpoint)) });
  }
  return models;
}

function endpointData(record: TlsRecord) {
  const findings = (record.findings ?? []).filter((finding) => !OF_CERTIFICATE.includes(finding));
  return present({
    ip: record.ip,
    port: record.port,
    host: record.host,
    sni: record.sni,
    tls_version: record.tls_version,
    cipher: record.cipher,
    alpn: record.alpn,
    version_enum: record.version_enum,
    cipher_enum: record.cipher_enum,
    starttls: record.starttls,
    ocsp_stapled: record.ocsp_stapled,
    certificate: record.fingerprint_hash?.sha256,
    findings: sorted(findings),
  });
}

function certificateData(record: TlsRecord, endpoint: string) {
  const findings = (record.findings ?? []).filter((finding) => OF_CERTIFICATE.includes(finding));
  return present({
    subject_dn: record.subject_dn,
    subject_cn: record.subject_cn,
    subject_an: record.subject_an === undefined ? undefined : sorted(record.subject_an),
    issuer_dn: record.issuer_dn,
    issuer_cn: record.issuer_cn,
    serial: record.serial,
    not_before: record.not_before,
    not_after: record.not_after,
    key_type: record.key_type,
    key_bits: record.key_bits,
    signature_algorithm: record.signature_algorithm,
    fingerprint_hash: record.fingerprint_hash,
    wildcard_certificate: record.wildcard_certificate,
    issuers: (record.chain ?? []).map(({ fingerprint_hash }) => fingerprint_hash.sha256).slice(0, 10),
    endpoints: [endpoint],
    findings: sorted(findings),
  });
}
