interface Subject {
  type: string;
  id: string;
  /** Jobs are shown by name. */
  title?: string;
}

const surface = ({ id }: Subject): string => `/surface/${encodeURIComponent(id)}`;

const ADDRESS: Readonly<Record<string, (subject: Subject) => string>> = {
  run: ({ id }) => `/runs/${id}`,
  task: ({ id }) => `/tasks/${id}`,
  job: ({ id, title }) => jobAddress(title ?? id),
  kind: ({ id }) => `/runs?kind=${encodeURIComponent(id)}`,
  worker: ({ id }) => `/workers?open=${encodeURIComponent(id)}`,
  rule: ({ id }) => `/rules?open=${encodeURIComponent(id)}`,
  host: surface,
  service: surface,
  certificate: surface,
  finding: ({ id }) => `/findings/${encodeURIComponent(id)}`,
  runner: ({ id }) => `/pool/${encodeURIComponent(id)}`,
  executor: () => '/executors',
};

/** The address of the view that shows an object. */
export function addressOf(subject: Subject): string {
  return ADDRESS[subject.type]?.(subject) ?? '/';
}

export function executorAddress(endpoint: string): string {
  return `/executors/${encodeURIComponent(endpoint)}`;
}

export function jobAddress(name: string): string {
  return `/schedules/${encodeURIComponent(name)}`;
}
