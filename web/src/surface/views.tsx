import type { ReactNode } from 'react';
import type { Model } from '@heddle/client';
import { agoOf, momentOf } from '../list/list-table.tsx';
import type { Column } from '../list/list-table.tsx';
import { parseTime } from '../times.ts';
import { expiryOf } from './expiry.ts';
import { FindingChips } from './finding-chips.tsx';
import { answersOf, textOf, textsOf } from './model-data.ts';
import { ModelStateChip } from './model-state.tsx';
import { useNamesOf } from './names-by-address.ts';

/** The table of one sort of model. */
export interface View {
  label: string;
  opener: { header: string; label: (model: Model) => ReactNode; below?: (model: Model) => ReactNode };
  columns: readonly Column<Model>[];
  /** Placeholder of the search field. */
  searched: string;
}

const LIST_SHOWN = 6;
/** Banners escape what is not printable. */
const LINE_END = /(?:\\[rn]|\s)+$/;

/** Shows the first of several strings, and the number of others. */
function Several({ texts }: { texts: readonly string[] }) {
  if (texts.length === 0) return <span className="quiet">–</span>;
  const more = texts.length - LIST_SHOWN;
  return (
    <>
      {texts.slice(0, LIST_SHOWN).join(', ')}
      {more > 0 && <span className="quiet"> and {more.toLocaleString()} more</span>}
    </>
  );
}

/** A column of strings that may wrap. */
function texts(header: string, read: (model: Model) => readonly string[]): Column<Model> {
  return {
    header,
    className: 'surface-texts',
    title: (model) => read(model).join('\n'),
    cell: (model) => <Several texts={read(model)} />,
  };
}

const member = (name: string) => (model: Model) => textsOf(model.data, name);
const single = (name: string) => (model: Model) => textOf(model.data, name) ?? '–';

/** Shows the names given to the scan, then those found by scans of names. */
function AddressNames({ data }: Model) {
  const found = useNamesOf(textOf(data, 'ip'));
  return <Several texts={[...new Set([...textsOf(data, 'names'), ...found])]} />;
}

const NAMES: Column<Model> = {
  header: 'Names',
  className: 'surface-texts',
  cell: (model) => <AddressNames {...model} />,
};
const STATE: Column<Model> = { header: 'State', cell: (model) => <ModelStateChip {...model} /> };
const FIRST_SEEN: Column<Model> = {
  header: 'First seen',
  title: ({ first_seen }) => momentOf(first_seen),
  cell: ({ first_seen }, now) => agoOf(first_seen, now),
};
const LAST_SEEN: Column<Model> = {
  header: 'Last seen',
  title: ({ last_seen }) => momentOf(last_seen),
  cell: ({ last_seen }, now) => agoOf(last_seen, now),
};
const SEEN = [FIRST_SEEN, LAST_SEEN] as const;

const findings: Column<Model> = {
  header: 'Findings',
  className: 'surface-findings',
  cell: ({ data }) => <FindingChips findings={textsOf(data, 'findings')} />,
};

const notAfter: Column<Model> = {
  header: 'Not after',
  title: ({ data }) => momentOf(textOf(data, 'not_after')),
  cell: ({ data }, now) => {
    const at = parseTime(textOf(data, 'not_after'));
    if (at === null) return '–';
    const { words, urgency } = expiryOf(at, now);
    return (
      <span className="expiry" data-urgency={urgency}>
        {words}
      </span>
    );
  },
};

export const VIEWS = {
  host: {
    label: 'Hosts',
    searched: 'address, name, port',
    opener: { header: 'Address', label: ({ key }) => key },
    columns: [STATE, NAMES, texts('Open ports', member('ports')), ...SEEN],
  },
  service: {
    label: 'Services',
    searched: 'address, name, banner',
    opener: { header: 'Service', label: ({ key }) => key.replace(/\/tcp$/, '') },
    columns: [
      STATE,
      NAMES,
      {
        header: 'Banner',
        className: 'surface-banner',
        title: bannerOf,
        cell: (model) => <code>{bannerOf(model)}</code>,
      },
      ...SEEN,
    ],
  },
  name: {
    label: 'Names',
    searched: 'name, answer',
    opener: { header: 'Name', label: ({ key, data }) => textOf(data, 'name') ?? key },
    columns: [
      { header: 'Type', cell: single('type') },
      STATE,
      texts('Answers', ({ data }) => answersOf(data)),
      { header: 'Wildcard', cell: ({ data }) => (data['wildcard'] === true ? 'yes' : '') },
      ...SEEN,
    ],
  },
  tls: {
    label: 'TLS',
    searched: 'address, name, version',
    opener: {
      header: 'Endpoint',
      label: ({ key }) => key.split('/')[0]!,
      below: ({ data }) => <span className="quiet below">{textOf(data, 'sni')}</span>,
    },
    columns: [
      STATE,
      findings,
      { header: 'Version', cell: ({ data }) => textOf(data, 'tls_version') ?? '–' },
      { header: 'Cipher', cell: single('cipher') },
      { header: 'ALPN', cell: single('alpn') },
      LAST_SEEN,
    ],
  },
  certificate: {
    label: 'Certificates',
    searched: 'name, issuer, SHA-256',
    opener: {
      header: 'Subject',
      label: ({ key, data }) => textOf(data, 'subject_cn') ?? textOf(data, 'subject_dn') ?? key.slice(0, 16),
      below: ({ data }) => (
        <span className="quiet below">
          by {textOf(data, 'issuer_cn') ?? textOf(data, 'issuer_dn') ?? 'an unknown issuer'}
        </span>
      ),
    },
    columns: [STATE, findings, notAfter, texts('Names', member('subject_an')), texts('Seen at', member('endpoints'))],
  },
} satisfies Record<string, View>;

export type ViewName = keyof typeof VIEWS;
export const VIEW_NAMES = Object.keys(VIEWS) as ViewName[];

function bannerOf({ data }: Model): string {
  return textOf(data, 'banner')?.replace(LINE_END, '') ?? '';
}
