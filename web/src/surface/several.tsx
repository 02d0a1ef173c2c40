const SHOWN = 6;

/** The first of several texts, and how many more there are. */
export function Several({ texts, shown = SHOWN }: { texts: readonly string[]; shown?: number }) {
  if (texts.length === 0) return <span className="quiet">–</span>;
  const more = texts.length - shown;
  return (
    <span title={texts.join('\n')}>
      {texts.slice(0, shown).join(', ')}
      {more > 0 && <span className="quiet"> and {more.toLocaleString()} more</span>}
    </span>
  );
}
