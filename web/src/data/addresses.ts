const BASE: Readonly<Record<string, (id: string) => string>> = {
  run: (id) => `/runs/${id}`,
  task: (id) => `/tasks/${id}`,
  job: (id) => `/schedules/${id}`,
  kind: (id) => `/runs?kind=${id}`,
  worker: (id) => `/workers?open=${id}`,
  rule: (id) => `/rules?open=${id}`,
  queue: (id) => `/queues?open=${id}`,
  host: (id) => `/surface/${id}`,
  service: (id) => `/surface/${id}`,
  name: (id) => `/surface/${id}`,
  certificate: (id) => `/surface/${id}`,
  finding: (id) => `/findings?open=${id}`,
  runner: (id) => `/pool?open=${id}`,
  executor: () => '/executors',
};

/** The address of the view that shows an object. */
export function addressOf({ type, id }: { type: string; id: string }): string {
  return BASE[type]?.(encodeURIComponent(id)) ?? '/';
}
