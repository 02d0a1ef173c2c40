import type { AuditEntry } from '@heddle/client';
import { places } from '../api/places.ts';
import { useFilters } from '../data/filters.ts';
import { useLiveList } from '../data/live.ts';
import { Empty } from '../ui/empty.tsx';
import { FilterBar, TextFilter } from '../ui/filter-bar.tsx';
import { ListView } from '../ui/list-view.tsx';
import { Page } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

const COLUMNS: readonly Column<AuditEntry>[] = [
  { header: 'No.', number: true, cell: ({ seq }) => seq.toLocaleString() },
  { header: 'When', cell: ({ at }) => <Ago at={at} /> },
  { header: 'Who', cell: ({ actor }) => actor ?? 'anyone' },
  { header: 'Action', cell: ({ action }) => action },
  { header: 'Object', grow: true, cell: ({ object }) => <span title={object ?? undefined}>{object ?? ''}</span> },
  { header: 'Status', number: true, cell: ({ status }) => status ?? '' },
  { header: 'Address', optional: true, cell: ({ address }) => address ?? '' },
];

/** Who changed what. */
export function AuditPage() {
  const [filters, change] = useFilters(['actor', 'action', 'object']);
  const list = useLiveList<AuditEntry>(['audit', filters], (before, signal) => places.audit(filters, before, signal));
  return (
    <Page
      title="Audit"
      lead="Every call that changed something, newest first. heddle audit verify finds changed entries."
    >
      <FilterBar>
        <TextFilter label="Who" value={filters.actor} onChange={(actor) => change({ actor })} main />
        <TextFilter label="Action" value={filters.action} onChange={(action) => change({ action })} />
        <TextFilter label="Object" value={filters.object} onChange={(object) => change({ object })} />
      </FilterBar>
      <ListView
        label="Audit log"
        list={list}
        columns={COLUMNS}
        rowId={({ seq }) => String(seq)}
        empty={<Empty title="No entries" />}
      />
    </Page>
  );
}
