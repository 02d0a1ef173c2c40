import type { Model } from '@heddle/client';
import type { ModelChange } from '../api/models.ts';
import { JsonBlock } from '../json-block.tsx';
import { Field, FieldList, Moment } from '../list/fields.tsx';
import { FindingChips } from './finding-chips.tsx';
import { textOf, textsOf, valueText } from './model-data.ts';
import { STATE_LABEL } from './model-state.tsx';

/** Shows all members of a model, and what changed in the last run that changed it. */
export function ModelDetails({ model, now }: { model: Model; now: number }) {
  const { data, state, changes } = model;
  const certificate = model.model === 'tls' ? textOf(data, 'certificate') : null;
  return (
    <div className="row-details" data-testid="model-details">
      <div className="model-facts">
        <FieldList>
          <Field name="Key">
            <code className="breakable">{model.key}</code>
          </Field>
          <Field name="Target">{model.target}</Field>
          {Array.isArray(data['findings']) && (
            <Field name="Findings">
              <FindingChips findings={textsOf(data, 'findings')} />
            </Field>
          )}
          {certificate !== null && (
            <Field name="Certificate">
              <a
                href={`/surface?${new URLSearchParams({ model: 'certificate', target: model.target, search: certificate })}`}
              >
                {certificate.slice(0, 16)}…
              </a>
            </Field>
          )}
          <Field name="First seen">
            <Moment at={model.first_seen} now={now} />, in run {model.first_run.toLocaleString()}
          </Field>
          <Field name="Last seen">
            <Moment at={model.last_seen} now={now} />, in run {model.last_run.toLocaleString()}; in{' '}
            {model.runs.toLocaleString()} {model.runs === 1 ? 'run' : 'runs'}
          </Field>
          {model.gone_at !== null && (
            <Field name="Gone since">
              <Moment at={model.gone_at} now={now} />
            </Field>
          )}
        </FieldList>
        <section>
          <h3>Data</h3>
          <JsonBlock value={data} />
        </section>
      </div>
      <section>
        <h3>{STATE_LABEL[state]}</h3>
        <p className="quiet">
          <Moment at={model.changed_at} now={now} />, in run {model.changed_run.toLocaleString()}
        </p>
        {changes.length > 0 && <Changes changes={changes} />}
      </section>
    </div>
  );
}

function Changes({ changes }: { changes: readonly ModelChange[] }) {
  return (
    <table className="changes">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <tr key={change.field}>
            <th scope="row">{change.field}</th>
            <td className="breakable">{valueText(change.old)}</td>
            <td className="breakable">{valueText(change.new)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
