import { Tabs as Base } from '@base-ui/react/tabs';
import type { ReactNode } from 'react';

export interface Tab<Name extends string> {
  name: Name;
  label: ReactNode;
  content: () => ReactNode;
}

interface TabsProps<Name extends string> {
  label: string;
  tabs: readonly Tab<Name>[];
  chosen: Name;
  onChoose: (name: Name) => void;
}

/** Tabs; only the chosen one is drawn. */
export function Tabs<Name extends string>({ label, tabs, chosen, onChoose }: TabsProps<Name>) {
  return (
    <Base.Root value={chosen} onValueChange={(value) => onChoose(value as Name)} className="tabs">
      <Base.List className="tab-list" aria-label={label}>
        {tabs.map((tab) => (
          <Base.Tab key={tab.name} value={tab.name} className="tab">
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.name} value={tab.name} className="tab-panel">
          {tab.name === chosen && tab.content()}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
