interface ZoomButtonsProps {
  onIn: () => void;
  onOut: () => void;
  onReset: () => void;
  /** Label of the third button. */
  reset: string;
  resetTitle: string;
}

/** The buttons in the corner of a graph or a tree. */
export function ZoomButtons({ onIn, onOut, onReset, reset, resetTitle }: ZoomButtonsProps) {
  return (
    <div className="zoom-buttons" role="group" aria-label="Zoom">
      <button type="button" title="Larger (+)" aria-label="Zoom in" onClick={onIn}>
        +
      </button>
      <button type="button" title="Smaller (−)" aria-label="Zoom out" onClick={onOut}>
        −
      </button>
      <button type="button" title={resetTitle} onClick={onReset}>
        {reset}
      </button>
    </div>
  );
}
