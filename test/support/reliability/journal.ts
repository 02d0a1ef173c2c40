/** What the world outside of Heddle knows: acknowledged calls, webhooks that arrived, work that was done. */
export type JournalLine =
  | { event: 'submitted'; name: string; workflow_id: string }
  | { event: 'started'; name: string; task_id: string; attempt: number; key: string }
  | { event: 'ended'; name: string; task_id: string; trigger: string; key: string }
  | { event: 'ran'; task_id: string; attempt: number }
  | { event: 'counting'; key: string }
  | { event: 'counted'; key: string; units: number }
  | { event: 'reported'; task_id: string; attempt: number };

type Line<Event extends JournalLine['event']> = Extract<JournalLine, { event: Event }>;

/** Survives the process that wrote it: another one goes on where it ended. */
export class Journal {
  readonly lines: JournalLine[] = [];
  readonly submitted = new Map<string, string>();
  readonly counting = new Set<string>();
  readonly counted = new Map<string, number>();
  readonly #starts = new Map<string, Line<'started'>>();
  readonly #reported = new Set<string>();
  readonly #write: (line: JournalLine) => void;

  /** @param write called with each new line before anything else happens */
  constructor(write: (line: JournalLine) => void = () => undefined) {
    this.#write = write;
  }

  note(line: JournalLine): void {
    this.#write(line);
    this.replay(line);
  }

  replay(line: JournalLine): void {
    this.lines.push(line);
    if (line.event === 'submitted') this.submitted.set(line.name, line.workflow_id);
    if (line.event === 'started') this.#starts.set(`${line.task_id}/${line.attempt}`, line);
    if (line.event === 'counting') this.counting.add(line.key);
    if (line.event === 'counted') this.counted.set(line.key, line.units);
    if (line.event === 'reported') this.#reported.add(`${line.task_id}/${line.attempt}`);
  }

  /** Starts that arrived and whose end no one acknowledged. */
  openStarts(): Line<'started'>[] {
    return [...this.#starts].filter(([key]) => !this.#reported.has(key)).map(([, start]) => start);
  }

  all<Event extends JournalLine['event']>(event: Event): Line<Event>[] {
    return this.lines.filter((line): line is Line<Event> => line.event === event);
  }
}
