import { Redirect, useParams } from 'wouter';
import { readModels } from '../api/models.ts';
import { useFilters } from '../data/filters.ts';
import { useLive } from '../data/live.ts';
import { LinkButton } from '../ui/button.tsx';
import { Page } from '../ui/page.tsx';
import { Trouble } from '../ui/problem.tsx';
import { Loading } from '../ui/loading.tsx';

/** Leads to the host with an address: what else was found on it does not know its id. */
export function HostByAddress() {
  const { address } = useParams<{ address: string }>();
  const ip = decodeURIComponent(address);
  const [{ target }] = useFilters(['target']);
  const { data, error, dataUpdatedAt } = useLive(['host', 'by address', ip], (signal) =>
    readModels({ model: 'host', key: ip }, signal),
  );
  const hosts = (data ?? []).filter(({ key }) => key === ip);
  const host = hosts.find((each) => each.target === target) ?? hosts[0];
  if (host !== undefined) return <Redirect to={`/surface/${host.id}`} replace />;
  return (
    <Page title={ip} crumbs={[{ label: 'Surface', href: '/surface' }]}>
      {data === undefined && error === null && <Loading />}
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      {data !== undefined && (
        <>
          <p>No scan of ports has found a host with this address.</p>
          <LinkButton href={`/surface?model=service&search=${encodeURIComponent(ip)}`}>Its services</LinkButton>
        </>
      )}
    </Page>
  );
}
