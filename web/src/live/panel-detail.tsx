import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { Button } from '../ui/button.tsx';

interface PanelDetailProps {
  back: string;
  onBack: () => void;
  children: ReactNode;
}

/** What is selected, in the panel beside a graph or a tree, with the way back. */
export function PanelDetail({ back, onBack, children }: PanelDetailProps) {
  const box = useRef<HTMLDivElement>(null);
  // In a narrow window the panel is below the graph.
  useEffect(() => box.current?.scrollIntoView({ block: 'nearest' }), []);
  return (
    <div className="details" data-testid="details" ref={box}>
      <Button look="plain" className="back" onClick={onBack}>
        ‹ {back}
      </Button>
      {children}
    </div>
  );
}
