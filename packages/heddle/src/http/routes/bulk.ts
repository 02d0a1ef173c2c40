/** Ids that an entry of the audit log holds. */
const AUDITED_IDS_MAX = 10;

/** The ids of a bulk call, each once, as the database writes them. */
export function distinctIds(ids: readonly string[]): string[] {
  return [...new Set(ids.map((id) => id.toLowerCase()))];
}

/** Describes a bulk call in the audit log. @param objects such as `tasks` */
export function auditedObjects(operation: string, objects: string, changed: readonly string[], asked: number): string {
  const more = changed.length - AUDITED_IDS_MAX;
  const ids = changed.slice(0, AUDITED_IDS_MAX).join(' ');
  return `${operation}: ${changed.length} of ${asked} ${objects} ${ids}${more > 0 ? ` and ${more} more` : ''}`.trimEnd();
}
