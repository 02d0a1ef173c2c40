interface Handlers {
  panBy(x: number, y: number): void;
  zoomAt(factor: number, at: { x: number; y: number }): void;
  tap(at: { x: number; y: number }): void;
}

const WHEEL_STEP = 0.0015;
/** A pointer that moved less than this has been tapped. */
const TAP_PX = 4;

/** Drag to pan, wheel or two fingers to zoom, tap to choose. Returns a function that stops listening. */
export function listenForGestures(element: HTMLElement, handlers: Handlers): () => void {
  const stopped = new AbortController();
  const { signal } = stopped;
  const pointers = new Map<number, { x: number; y: number }>();
  let travelledPx = 0;
  const within = ({ clientX, clientY }: MouseEvent): { x: number; y: number } => {
    const { left, top } = element.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };
  const spread = (): number => {
    const [a, b] = [...pointers.values()];
    return a === undefined || b === undefined ? 0 : Math.hypot(a.x - b.x, a.y - b.y);
  };
  element.addEventListener(
    'pointerdown',
    (event) => {
      if (event.button !== 0) return;
      element.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, within(event));
      travelledPx = pointers.size === 1 ? 0 : Infinity;
    },
    { signal },
  );
  element.addEventListener(
    'pointermove',
    (event) => {
      const last = pointers.get(event.pointerId);
      if (last === undefined) return;
      const at = within(event);
      const before = spread();
      pointers.set(event.pointerId, at);
      travelledPx += Math.hypot(at.x - last.x, at.y - last.y);
      if (travelledPx >= TAP_PX) handlers.panBy((at.x - last.x) / pointers.size, (at.y - last.y) / pointers.size);
      if (before > 0) handlers.zoomAt(spread() / before, at);
    },
    { signal },
  );
  const release = (event: PointerEvent): void => {
    if (!pointers.delete(event.pointerId)) return;
    if (event.type === 'pointerup' && pointers.size === 0 && travelledPx < TAP_PX) handlers.tap(within(event));
  };
  element.addEventListener('pointerup', release, { signal });
  element.addEventListener('pointercancel', release, { signal });
  element.addEventListener(
    'wheel',
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      handlers.zoomAt(Math.exp(-event.deltaY * lines * WHEEL_STEP), within(event));
    },
    { signal, passive: false },
  );
  return () => stopped.abort();
}
