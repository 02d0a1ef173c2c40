import type { Model } from '@heddle/client';
import { Link } from 'wouter';
import { EventList } from '../ui/event-list.tsx';
import type { HistoryEvent } from '../ui/event-list.tsx';
import { Section } from '../ui/page.tsx';
import { Trouble } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { issuerOf, Product, subjectOf } from './columns.tsx';
import { Expires } from './expires.tsx';
import { portOf, useHostParts } from './host-parts.ts';
import type { HostParts } from './host-parts.ts';
import { changesOf } from './model-changes.tsx';
import { textOf, textsOf } from './model-data.ts';
import { ModelBadge } from './model-state.tsx';
import { ProblemChips } from './problem-chips.tsx';
import { tlsVersion } from './service-words.ts';
import { Several } from './several.tsx';

/** A host with its services, certificates, names, and what changed. */
export function HostContent({ host }: { host: Model }) {
  const { parts, error, updatedAtMs } = useHostParts(host);
  return (
    <>
      {error !== null && <Trouble error={error} updatedAtMs={updatedAtMs} />}
      <Section title="Services">
        {parts.services.length === 0 ? (
          <p className="quiet">No open port was found.</p>
        ) : (
          <Table
            label="Services"
            columns={serviceColumns(parts)}
            rows={parts.services}
            rowId={({ id }) => id}
            href={({ id }) => `/surface/${id}`}
          />
        )}
      </Section>
      <Section title="Certificates">
        {parts.certificates.length === 0 ? (
          <p className="quiet">None was seen on this host.</p>
        ) : (
          <Table
            label="Certificates"
            columns={CERTIFICATES}
            rows={parts.certificates}
            rowId={({ id }) => id}
            href={({ id }) => `/surface/${id}`}
          />
        )}
      </Section>
      <div className="columns">
        <Section title="Names">
          <Names host={host} parts={parts} />
        </Section>
        <Section
          title="History"
          testId="model-history"
          beside={<span className="quiet">the latest change of each part</span>}
        >
          <EventList events={historyOf(host, parts)} />
        </Section>
      </div>
    </>
  );
}

function serviceColumns({ endpoints, certificates }: HostParts): readonly Column<Model>[] {
  const tlsOf = (service: Model): readonly Model[] => endpoints.filter((tls) => portOf(tls) === portOf(service));
  const certificatesOf = (service: Model): readonly Model[] => {
    const hashes = new Set(tlsOf(service).map(({ data }) => textOf(data, 'certificate')));
    return certificates.filter(({ key }) => hashes.has(key));
  };
  const problemsOf = (service: Model): string[] => {
    const all = [...tlsOf(service), ...certificatesOf(service)].flatMap(({ data }) => textsOf(data, 'findings'));
    return [...new Set(all)];
  };
  return [
    { header: 'State', cell: (service) => <ModelBadge {...service} /> },
    {
      header: 'Port',
      number: true,
      cell: (service) => <Link href={`/surface/${service.id}`}>{portOf(service)}</Link>,
    },
    { header: 'Protocol', cell: ({ data }) => (textOf(data, 'protocol') ?? 'tcp').toUpperCase() },
    { header: 'Product and version', grow: true, cell: (service) => <Product model={service} /> },
    {
      header: 'TLS',
      cell: (service) => {
        const [tls] = tlsOf(service);
        if (tls === undefined) return <span className="quiet">–</span>;
        return <Link href={`/surface/${tls.id}`}>{tlsVersion(textOf(tls.data, 'tls_version')) ?? 'yes'}</Link>;
      },
    },
    {
      header: 'Certificate',
      cell: (service) => {
        const [certificate] = certificatesOf(service);
        if (certificate === undefined) return <span className="quiet">–</span>;
        return <Expires at={textOf(certificate.data, 'not_after')} />;
      },
    },
    { header: 'Problems', cell: (service) => <ProblemChips problems={problemsOf(service)} /> },
    { header: 'Last seen', optional: true, cell: ({ last_seen }) => <Ago at={last_seen} /> },
  ];
}

const CERTIFICATES: readonly Column<Model>[] = [
  {
    header: 'Subject',
    grow: true,
    cell: (certificate) => <Link href={`/surface/${certificate.id}`}>{subjectOf(certificate)}</Link>,
  },
  { header: 'Issuer', cell: issuerOf },
  { header: 'Names', cell: ({ data }) => <Several texts={textsOf(data, 'subject_an')} shown={2} /> },
  { header: 'Expiry', cell: ({ data }) => <Expires at={textOf(data, 'not_after')} /> },
  { header: 'Problems', cell: ({ data }) => <ProblemChips problems={textsOf(data, 'findings')} /> },
];

function Names({ host, parts: { names } }: { host: Model; parts: HostParts }) {
  const given = textsOf(host.data, 'names');
  if (given.length + names.length === 0) return <p className="quiet">No name leads to this host.</p>;
  const found = new Set(names.map(({ data }) => textOf(data, 'name')));
  return (
    <ul className="plain-list">
      {given
        .filter((name) => !found.has(name))
        .map((name) => (
          <li key={name}>
            {name} <span className="quiet">given to the scan</span>
          </li>
        ))}
      {names.map((model) => (
        <li key={model.id}>
          <Link href={`/surface/${model.id}`}>{nameOf(model)}</Link>{' '}
          <span className="quiet">
            {textOf(model.data, 'type') === 'PTR' ? 'by reverse lookup' : textOf(model.data, 'type')}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The name that resolves to the host, or those that its address resolves to. */
function nameOf({ key, data }: Model): string {
  return textsOf(data, 'ptr').join(', ') || (textOf(data, 'name') ?? key);
}

/** What was there from the beginning is not listed again for each part. */
function historyOf(host: Model, { services, endpoints, certificates }: HostParts): HistoryEvent[] {
  const of = (part: Model, words: string): HistoryEvent[] => {
    const link = <Link href={`/surface/${part.id}`}>{words}</Link>;
    return changesOf(part, link).filter(({ at }) => at !== host.first_seen);
  };
  return [
    ...changesOf(host, 'Host'),
    ...services.flatMap((service) => of(service, `Port ${portOf(service)}`)),
    ...endpoints.flatMap((tls) => of(tls, `TLS on port ${portOf(tls)}`)),
    ...certificates.flatMap((certificate) => of(certificate, `Certificate ${subjectOf(certificate)}`)),
  ];
}
