import type { Model } from '@heddle/client';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { Expires } from './expires.tsx';
import { useNamesOf } from './host-names.ts';
import { answersOf, textOf, textsOf } from './model-data.ts';
import { ModelBadge } from './model-state.tsx';
import { ProblemChips } from './problem-chips.tsx';
import { bannerOf, productOf, tlsVersion, usualService } from './service-words.ts';
import { Several } from './several.tsx';

/** The table of one sort of model. */
export interface SurfaceView {
  label: string;
  /** What it lists, in a sentence. */
  noun: string;
  columns: readonly Column<Model>[];
  /** What its search field finds. */
  searched: string;
}

/** Texts that are shown in a narrow column. */
const FEW = 3;

const link = (header: string, label: (model: Model) => ReactNode, grow = false): Column<Model> => ({
  header,
  grow,
  cell: (model) => <Link href={`/surface/${model.id}`}>{label(model)}</Link>,
});

/** In a column that grows, more texts are shown. */
const texts = (header: string, read: (model: Model) => readonly string[], grow = false): Column<Model> => ({
  header,
  grow,
  cell: (model) => <Several texts={read(model)} {...(grow ? {} : { shown: FEW })} />,
});

const single = (header: string, member: string): Column<Model> => ({
  header,
  cell: ({ data }) => textOf(data, member) ?? '–',
});

/** Shows the names given to the scan, then those found by scans of names. */
function AddressNames({ data }: Model) {
  const found = useNamesOf(textOf(data, 'ip'));
  return <Several texts={[...new Set([...textsOf(data, 'names'), ...found])]} />;
}

const NAMES: Column<Model> = { header: 'Names', grow: true, cell: (model) => <AddressNames {...model} /> };
const STATE: Column<Model> = { header: 'State', cell: (model) => <ModelBadge {...model} /> };
const PROBLEMS: Column<Model> = {
  header: 'Problems',
  cell: ({ data }) => <ProblemChips problems={textsOf(data, 'findings')} />,
};
const FIRST_SEEN: Column<Model> = {
  header: 'First seen',
  optional: true,
  cell: ({ first_seen }) => <Ago at={first_seen} />,
};
const LAST_SEEN: Column<Model> = { header: 'Last seen', cell: ({ last_seen }) => <Ago at={last_seen} /> };

export function Product({ model }: { model: Model }) {
  const banner = bannerOf(model);
  const product = productOf(banner);
  if (product !== null) {
    return (
      <span title={banner}>
        {product.name} {product.version}
      </span>
    );
  }
  if (banner !== '') return <code title={banner}>{banner.length > 40 ? `${banner.slice(0, 40)}…` : banner}</code>;
  const usual = usualService(Number(model.data['port']));
  if (usual === null) return <span className="quiet">–</span>;
  return (
    <span className="quiet" title="Usual on this port; the service did not greet">
      usually {usual}
    </span>
  );
}

export function subjectOf({ key, data }: Model): string {
  return textOf(data, 'subject_cn') ?? textOf(data, 'subject_dn') ?? key.slice(0, 16);
}

export function issuerOf({ data }: Model): string {
  return textOf(data, 'issuer_cn') ?? textOf(data, 'issuer_dn') ?? 'an unknown issuer';
}

export const VIEWS = {
  host: {
    label: 'Hosts',
    noun: 'hosts',
    searched: 'Address, name or port',
    columns: [
      STATE,
      link('Address', ({ key }) => key),
      NAMES,
      texts('Open ports', ({ data }) => textsOf(data, 'ports')),
      FIRST_SEEN,
      LAST_SEEN,
    ],
  },
  service: {
    label: 'Services',
    noun: 'services',
    searched: 'Address, name or banner',
    columns: [
      STATE,
      link('Service', ({ key }) => key),
      NAMES,
      { header: 'Product', grow: true, cell: (model) => <Product model={model} /> },
      FIRST_SEEN,
      LAST_SEEN,
    ],
  },
  name: {
    label: 'Names',
    noun: 'names',
    searched: 'Name or answer',
    columns: [
      STATE,
      link('Name', ({ key, data }) => textOf(data, 'name') ?? key),
      single('Type', 'type'),
      texts('Answers', ({ data }) => answersOf(data), true),
      { header: 'Wildcard', cell: ({ data }) => (data['wildcard'] === true ? 'yes' : '') },
      FIRST_SEEN,
      LAST_SEEN,
    ],
  },
  tls: {
    label: 'TLS',
    noun: 'TLS endpoints',
    searched: 'Address, name or version',
    columns: [
      STATE,
      link('Endpoint', ({ key }) => key.split('/')[0]!),
      { header: 'Server name', grow: true, cell: ({ data }) => textOf(data, 'sni') ?? '–' },
      PROBLEMS,
      { header: 'Version', cell: ({ data }) => tlsVersion(textOf(data, 'tls_version')) ?? '–' },
      single('Cipher', 'cipher'),
      LAST_SEEN,
    ],
  },
  certificate: {
    label: 'Certificates',
    noun: 'certificates',
    searched: 'Name, issuer or SHA-256',
    columns: [
      STATE,
      link('Subject', subjectOf, true),
      { header: 'Issuer', optional: true, cell: issuerOf },
      { header: 'Expiry', cell: ({ data }) => <Expires at={textOf(data, 'not_after')} /> },
      PROBLEMS,
      texts('Seen at', ({ data }) => textsOf(data, 'endpoints')),
    ],
  },
} as const satisfies Record<string, SurfaceView>;

export type ViewName = keyof typeof VIEWS;
