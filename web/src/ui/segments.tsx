interface SegmentsProps<Name extends string> {
  label: string;
  options: Readonly<Record<Name, string>>;
  chosen: Name;
  onChoose: (name: Name) => void;
}

/** Buttons, one of which is pressed. */
export function Segments<Name extends string>({ label, options, chosen, onChoose }: SegmentsProps<Name>) {
  return (
    <div className="segments" role="group" aria-label={label}>
      {(Object.keys(options) as Name[]).map((name) => (
        <button key={name} type="button" aria-pressed={chosen === name} onClick={() => onChoose(name)}>
          {options[name]}
        </button>
      ))}
    </div>
  );
}
