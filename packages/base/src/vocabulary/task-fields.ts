const COUNT_MAX = 2_147_483_647;

/** A plain setting of a task: what its submitter says, what is stored, and what is shown are one value. */
interface TaskField {
  /** Its member in tasks of batches. */
  batch: string;
  /** Its member in tasks of workflows. */
  tree: string;
  /** Nodes of workflows may not set it. */
  batchOnly?: true;
  /** The values of a choice, each stored as its index. Other settings are whole numbers. */
  values?: readonly string[];
  min?: number;
  max?: number;
  /** The column's default too; null: none. */
  default: string | number | null;
  description: string;
}

/**
 * The plain settings of a task, by their columns in `task`. Parsers, rows, records, the wire formats and their reference
 * follow from this description.
 */
export const TASK_FIELDS = {
  timeout_secs: {
    batch: 'timeout',
    tree: 'timeout_secs',
    min: 1,
    max: 86_400,
    default: 3600,
    description: 'Timeout, seconds; `timeout_basis` sets its start.',
  },
  deadline_basis: {
    batch: 'timeout_basis',
    tree: 'timeout_basis',
    values: ['start', 'activity'],
    default: 'activity',
    description: 'Start of the timeout: the last activity (counters and heartbeats), or the start of the attempt.',
  },
  priority: {
    batch: 'priority',
    tree: 'priority',
    min: -1000,
    max: 1000,
    default: 0,
    description: 'Higher starts first.',
  },
  expected_count: {
    batch: 'expected_count',
    tree: 'expected_count',
    batchOnly: true,
    min: 0,
    max: COUNT_MAX,
    default: null,
    description: 'Units of work that the task will count; used by capacity rules.',
  },
} as const satisfies Record<string, TaskField>;

type Fields = typeof TASK_FIELDS;
export type TaskFieldName = keyof Fields;
/** Tasks of batches, or of workflows. */
export type TaskForm = 'batch' | 'tree';

type ValueOf<Field> = Field extends { values: readonly (infer Value)[] }
  ? Value
  : Field extends { default: null }
    ? number | null
    : number;

/** The values of all settings. */
export type TaskSettings = { [Name in TaskFieldName]: ValueOf<Fields[Name]> };
/** The same by the names of a wire format. */
export type WireSettings<Form extends TaskForm> = { [Name in TaskFieldName as Fields[Name][Form]]: TaskSettings[Name] };
/** What a submission may say of them. */
export type GivenSettings<Form extends TaskForm> = Partial<
  Form extends 'tree' ? Omit<WireSettings<Form>, BatchOnlyField> : WireSettings<Form>
>;

type BatchOnlyField = {
  [Name in TaskFieldName]: Fields[Name] extends { batchOnly: true } ? Name : never;
}[TaskFieldName];

export type DeadlineBasis = TaskSettings['deadline_basis'];

export const TASK_FIELD_NAMES = Object.keys(TASK_FIELDS) as TaskFieldName[];

const ENTRIES: readonly (TaskField & { name: TaskFieldName })[] = TASK_FIELD_NAMES.map((name) => ({
  name,
  ...TASK_FIELDS[name],
}));

/** Returns all settings: those of a validated submission, and defaults for the others. */
export function settingsOf<Form extends TaskForm>(form: Form, given: GivenSettings<Form>): TaskSettings {
  const members = given as Record<string, unknown>;
  const settings: Record<string, unknown> = {};
  for (const field of ENTRIES) settings[field.name] = members[field[form]] ?? field.default;
  return settings as TaskSettings;
}

/** Returns settings by their names on a wire. */
export function settingsToWire<Form extends TaskForm>(form: Form, settings: TaskSettings): WireSettings<Form> {
  const members: Record<string, unknown> = {};
  for (const field of ENTRIES) members[field[form]] = settings[field.name];
  return members as WireSettings<Form>;
}

/** Returns the settings that differ from their defaults, by their names on a wire. */
export function changedSettings(form: TaskForm, settings: TaskSettings): Record<string, string | number> {
  const changed: Record<string, string | number> = {};
  for (const field of ENTRIES) {
    const value = settings[field.name];
    if (value !== null && value !== field.default) changed[field[form]] = value;
  }
  return changed;
}

/** Columns of `task` with the settings. */
export type SettingColumns = {
  [Name in TaskFieldName]: TaskSettings[Name] extends string ? number : TaskSettings[Name];
};

/** Returns the columns of settings that differ from their defaults. */
export function settingsToColumns(settings: TaskSettings): Partial<SettingColumns> {
  const columns: Partial<Record<TaskFieldName, number | null>> = {};
  for (const { name, values, default: usual } of ENTRIES) {
    const value = settings[name];
    if (value !== usual) columns[name] = typeof value === 'string' ? values!.indexOf(value) : value;
  }
  return columns as Partial<SettingColumns>;
}

/** Returns the settings in columns of `task`. */
export function settingsOfColumns(columns: SettingColumns): TaskSettings {
  const settings: Record<string, unknown> = {};
  for (const { name, values } of ENTRIES)
    settings[name] = values === undefined ? columns[name] : values[columns[name]!];
  return settings as unknown as TaskSettings;
}
