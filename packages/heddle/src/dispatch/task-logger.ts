import type { LineLevel } from '@heddle/base/vocabulary/task-log';
import type { Logger } from '@heddle/base/log';
import { redactFields, redactText } from '@heddle/base/redact';
import type { TaskLog } from './task-logs.ts';

/** Returns a logger whose lines go to the log of this process and, without the fields of `own`, to that of the task. */
export function taskLogger(own: Logger, taskLog: () => TaskLog, fields: object = {}): Logger {
  const write = (level: LineLevel): Logger['info'] => {
    return (more, message) => {
      own[level](more, message);
      taskLog().add('log', level, lineOf({ ...fields, ...more }, message));
    };
  };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (more) => taskLogger(own.child(more), taskLog, { ...fields, ...more }),
  };
}

function lineOf(fields: object, message: string): string {
  const shown = redactFields(fields);
  return redactText(Object.keys(shown).length === 0 ? message : `${message} ${JSON.stringify(shown)}`);
}
