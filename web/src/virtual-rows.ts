import { useEffect, useRef, useState } from 'react';

const OVERSCAN = 8;

export interface VirtualRows {
  scroller: React.RefObject<HTMLDivElement | null>;
  first: number;
  last: number;
}

/** Returns the visible rows of a long list, given the height of each in pixels. */
export function useVirtualRows(count: number, rowHeight: number): VirtualRows {
  const scroller = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ top: 0, height: 600 });
  useEffect(() => {
    const element = scroller.current!;
    const measure = (): void => setRange({ top: element.scrollTop, height: element.clientHeight });
    const resized = new ResizeObserver(measure);
    resized.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, []);
  const first = Math.max(0, Math.floor(range.top / rowHeight) - OVERSCAN);
  const last = Math.min(count, Math.ceil((range.top + range.height) / rowHeight) + OVERSCAN);
  return { scroller, first, last };
}
