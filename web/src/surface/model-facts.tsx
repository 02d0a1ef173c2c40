import type { Model } from '@heddle/client';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { queryOf } from '../data/filters.ts';
import { Field, Fields } from '../ui/fields.tsx';
import { issuerOf, Product } from './columns.tsx';
import { Expires, Moment } from './expires.tsx';
import { answersOf, textOf, textsOf, valueText } from './model-data.ts';
import { ProblemChips } from './problem-chips.tsx';
import { bannerOf, tlsVersion } from './service-words.ts';

/** What is known of a model, as people read it. */
export function ModelFacts({ model }: { model: Model }) {
  const Facts = FACTS[model.model] ?? OtherFacts;
  return (
    <Fields>
      <Facts model={model} />
    </Fields>
  );
}

type FactsComponent = (props: { model: Model }) => ReactNode;

const FACTS: Readonly<Record<string, FactsComponent>> = {
  service: ServiceFacts,
  name: NameFacts,
  tls: TlsFacts,
  certificate: CertificateFacts,
};

function HostLink({ model: { data, target } }: { model: Model }) {
  const ip = textOf(data, 'ip');
  return ip !== null && <Link href={`/surface/hosts/${encodeURIComponent(ip)}${queryOf({ target })}`}>{ip}</Link>;
}

function ServiceFacts({ model }: { model: Model }) {
  const { data } = model;
  const banner = bannerOf(model);
  const names = textsOf(data, 'names');
  return (
    <>
      <Field label="Host">
        <HostLink model={model} />
      </Field>
      <Field label="Port">
        {textOf(data, 'port')}/{textOf(data, 'protocol') ?? 'tcp'}
      </Field>
      <Field label="Product">
        <Product model={model} />
      </Field>
      {banner !== '' && (
        <Field label="Banner">
          <code className="breakable">{banner}</code>
        </Field>
      )}
      {names.length > 0 && <Field label="Names">{names.join(', ')}</Field>}
    </>
  );
}

function NameFacts({ model: { data } }: { model: Model }) {
  return (
    <>
      <Field label="Name">{textOf(data, 'name')}</Field>
      <Field label="Type">{textOf(data, 'type')}</Field>
      <Field label="Answers">
        <ul className="plain-list">
          {answersOf(data).map((answer) => (
            <li key={answer}>
              <code className="breakable">{answer}</code>
            </li>
          ))}
        </ul>
      </Field>
      {data['wildcard'] === true && <Field label="Wildcard">every name below it resolves so</Field>}
    </>
  );
}

function TlsFacts({ model }: { model: Model }) {
  const { data } = model;
  const certificate = textOf(data, 'certificate');
  const accepted = textsOf(data, 'version_enum').map((version) => tlsVersion(version) ?? version);
  return (
    <>
      <Field label="Host">
        <HostLink model={model} />
      </Field>
      <Field label="Port">{textOf(data, 'port')}</Field>
      <Field label="Server name">{textOf(data, 'sni')}</Field>
      <Field label="Problems">
        <ProblemChips problems={textsOf(data, 'findings')} />
      </Field>
      <Field label="Version">{tlsVersion(textOf(data, 'tls_version'))}</Field>
      {accepted.length > 0 && <Field label="Accepts">{accepted.join(', ')}</Field>}
      <Field label="Cipher">{textOf(data, 'cipher')}</Field>
      <Field label="ALPN">{textOf(data, 'alpn')}</Field>
      <Field label="STARTTLS">{textOf(data, 'starttls')}</Field>
      {certificate !== null && (
        <Field label="Certificate">
          <Link href={`/surface${queryOf({ model: 'certificate', search: certificate })}`}>
            {certificate.slice(0, 16)}…
          </Link>
        </Field>
      )}
    </>
  );
}

function CertificateFacts({ model }: { model: Model }) {
  const { data, key } = model;
  const names = textsOf(data, 'subject_an');
  const keyType = [textOf(data, 'key_type'), textOf(data, 'key_bits')].filter((part) => part !== null).join(', ');
  return (
    <>
      <Field label="Expiry">
        <Expires at={textOf(data, 'not_after')} />
      </Field>
      <Field label="Problems">
        <ProblemChips problems={textsOf(data, 'findings')} />
      </Field>
      <Field label="Subject">{textOf(data, 'subject_dn') ?? textOf(data, 'subject_cn')}</Field>
      <Field label="Issuer">{textOf(data, 'issuer_dn') ?? issuerOf(model)}</Field>
      {names.length > 0 && <Field label="Names">{names.join(', ')}</Field>}
      <Field label="Valid from">
        <Moment at={textOf(data, 'not_before')} />
      </Field>
      <Field label="Valid until">
        <Moment at={textOf(data, 'not_after')} />
      </Field>
      {keyType !== '' && <Field label="Key">{keyType} bits</Field>}
      <Field label="Signature">{textOf(data, 'signature_algorithm')}</Field>
      <Field label="Serial number">{textOf(data, 'serial')}</Field>
      <Field label="Seen at">{textsOf(data, 'endpoints').join(', ')}</Field>
      <Field label="SHA-256">
        <code className="breakable">{key}</code>
      </Field>
    </>
  );
}

/** Members of a model of one's own, in its order. */
function OtherFacts({ model: { model, data } }: { model: Model }) {
  return (
    <>
      <Field label="Model">{model}</Field>
      {Object.entries(data).map(([member, value]) => (
        <Field key={member} label={member.replaceAll('_', ' ')}>
          <span className="breakable">{valueText(value)}</span>
        </Field>
      ))}
    </>
  );
}
