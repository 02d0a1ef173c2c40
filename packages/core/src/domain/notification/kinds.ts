export const GENERIC_KIND = 'GenericNotification';
export const RESULT_KIND = 'TaskResultNotification';
export const ERROR_KIND = 'ErrorNotification';

/** Notification kinds, each with the variables of its templates beyond those of every task. */
export const NOTIFICATION_KINDS: ReadonlyMap<string, readonly string[]> = new Map([
  [GENERIC_KIND, []],
  [RESULT_KIND, ['results', 'counts', 'more_results']],
  [ERROR_KIND, ['errors', 'error_count']],
]);
