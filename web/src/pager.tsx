interface PagerProps {
  page: number;
  rows: readonly unknown[] | null;
  pageSize: number;
  onPage: (page: number) => void;
}

/** Pages through a list that is newest first; absent if everything fits on one page. */
export function Pager({ page, rows, pageSize, onPage }: PagerProps) {
  if (rows === null || (page === 0 && rows.length < pageSize)) return null;
  return (
    <nav className="pager" aria-label="Pages">
      <button type="button" disabled={page === 0} onClick={() => onPage(page - 1)}>
        Newer
      </button>
      <span>Page {page + 1}</span>
      <button type="button" disabled={rows.length < pageSize} onClick={() => onPage(page + 1)}>
        Older
      </button>
    </nav>
  );
}
