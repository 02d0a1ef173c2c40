/** The console pages that show what an aggregator of a scanning kind merges. */
const PLACES: Readonly<Record<string, { address: string; model: string | null; words: string }>> = {
  TcpSynAggregator: { address: '/surface', model: 'service', words: 'Hosts and services' },
  DnsScanAggregator: { address: '/surface', model: 'name', words: 'Names' },
  TlsScanAggregator: { address: '/surface', model: 'certificate', words: 'Certificates' },
  ObjectScanAggregator: { address: '/findings', model: null, words: 'Findings' },
};

/** Links from an aggregator to the list of its target; renders nothing for other tasks. */
export function MergedLink({ kind, input }: { kind: string; input: unknown }) {
  const place = PLACES[kind];
  const target = (input as { target?: unknown } | null)?.target;
  if (place === undefined || typeof target !== 'string') return null;
  const search = new URLSearchParams({ ...(place.model === null ? {} : { model: place.model }), target });
  return (
    <p>
      <a href={`${place.address}?${search}`}>
        {place.words} of {target}
      </a>
    </p>
  );
}
