/** Stands for what is on its way. */
export function Loading() {
  return <p className="quiet loading">Loading…</p>;
}
