import { useState } from 'react';
import { ApiError } from '../api/client.ts';
import { useFilters } from '../data/filters.ts';
import { Absent } from '../ui/absent.tsx';
import { Button } from '../ui/button.tsx';
import { ConfirmButton } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../ui/filter-bar.tsx';
import { Menu } from '../ui/menu.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Segments } from '../ui/segments.tsx';
import { StateGlyph } from '../ui/glyphs.tsx';
import { STATE, STATES } from '../ui/state.ts';
import { OutcomeBar, StateBadge, TallyList } from '../ui/state.tsx';
import { Table } from '../ui/table.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { Ago, Count, Took } from '../ui/time.tsx';
import { notify, notifyError } from '../ui/toast.tsx';
import { DesignContent } from './design-content.tsx';
import { DesignForms } from './design-forms.tsx';

const SPACES = [1, 2, 3, 4, 5, 6];
const TEXTS = ['label', 'small', 'body', 'section', 'page'];
const COLOURS = [
  'bg',
  'surface',
  'sunken',
  'hover',
  'selected',
  'text',
  'quiet',
  'line',
  'accent',
  'danger',
  'warn-bg',
];
const ROWS = [
  { id: '1', name: 'nightly orders', tasks: 12, at: Date.now() - 95_000 },
  { id: '2', name: 'attack surface', tasks: 1480, at: Date.now() - 3_600_000 },
];

const TALLY = { succeeded: 9, failed: 2, running: 3, waiting: 6 };
const SELF = { label: 'Design system', href: '/design' };

/** Every part of the design system, for those who change the console. */
export function DesignPage() {
  const [{ absent }] = useFilters(['absent']);
  if (absent === '') return <Parts />;
  return (
    <Absent noun="job" id={absent} list={SELF} error={new ApiError(404, 'No such job')} updatedAtMs={0}>
      Someone may have deleted it.
    </Absent>
  );
}

function Parts() {
  const [tab, setTab] = useState<'one' | 'two'>('one');
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [segment, setSegment] = useState<'graph' | 'timeline'>('graph');
  const [text, setText] = useState('');
  const [choice, setChoice] = useState('');
  return (
    <Page title="Design system" lead="design/system.css defines all of this.">
      <Section title="States">
        <ul className="design-list">
          {STATES.map((state) => (
            <li key={state}>
              <StateBadge state={state} /> <span className="quiet">{STATE[state].meaning}</span>
            </li>
          ))}
        </ul>
        <OutcomeBar tally={TALLY} />
        <TallyList tally={TALLY} />
        <p>
          <StateGlyph state="running" size={24} /> A glyph without its label, for graphs.
        </p>
      </Section>
      <Section title="Space and type">
        {SPACES.map((n) => (
          <p key={n} className="design-space" style={{ width: `var(--space-${n})` }} title={`--space-${n}`} />
        ))}
        {TEXTS.map((name) => (
          <p key={name} style={{ fontSize: `var(--text-${name})` }}>
            --text-{name}: tasks with dependencies
          </p>
        ))}
      </Section>
      <Section title="Colours">
        <ul className="design-list">
          {COLOURS.map((name) => (
            <li key={name}>
              <span className="design-colour" style={{ background: `var(--${name})` }} /> --{name}
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Controls">
        <div className="design-row">
          <Button>Normal</Button>
          <Button look="primary">Primary</Button>
          <Button look="danger">Danger</Button>
          <Button look="plain">Plain</Button>
          <Button disabled>Disabled</Button>
          <Menu label="Menu" items={[{ label: 'Pause', onSelect: () => notify('Paused') }]} />
          <ConfirmButton
            label="Cancel run"
            verb="Cancel run"
            title="Cancel “nightly”?"
            look="danger"
            onConfirm={async () => {}}
          >
            Its 12 unfinished tasks end as canceled.
          </ConfirmButton>
          <Button onClick={() => notifyError('Retry failed', new Error('The task is running'))}>Notify</Button>
        </div>
        <Segments
          label="View"
          options={{ graph: 'Graph', timeline: 'Timeline' }}
          chosen={segment}
          onChoose={setSegment}
        />
        <FilterBar>
          <TextFilter label="Name" value={text} onChange={setText} main />
          <ChoiceFilter label="State" value={choice} options={{ '': 'Any', open: 'Open' }} onChange={setChoice} />
        </FilterBar>
        <Tabs
          label="Parts"
          chosen={tab}
          onChoose={setTab}
          tabs={[
            { name: 'one', label: 'One', content: () => <p>First</p> },
            { name: 'two', label: 'Two', content: () => <p>Second</p> },
          ]}
        />
      </Section>
      <Section title="Table">
        <Table
          label="Runs"
          rows={ROWS}
          rowId={({ id }) => id}
          selection={{ ids: selected, onChange: setSelected }}
          columns={[
            { header: 'Name', grow: true, cell: ({ name }) => name },
            { header: 'Tasks', number: true, cell: ({ tasks }) => <Count n={tasks} /> },
            { header: 'Created', cell: ({ at }) => <Ago at={at} /> },
            { header: 'Took', number: true, cell: ({ at }) => <Took from={at} to={null} /> },
          ]}
        />
      </Section>
      <DesignForms />
      <DesignContent />
    </Page>
  );
}
