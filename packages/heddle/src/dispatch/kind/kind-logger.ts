import type { KindLogger } from '@heddle/kit';
import type { Logger } from '@heddle/base/log';

/** Returns the logger of a handler, whose lines may be messages alone. */
export function kindLogger(log: Logger): KindLogger {
  const write = (level: 'debug' | 'info' | 'warn' | 'error'): KindLogger['info'] => {
    return (first: string | object, message?: string) => {
      if (typeof first === 'string') log[level]({}, message === undefined ? first : `${first} ${message}`);
      else log[level](first, message ?? '');
    };
  };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => kindLogger(log.child(fields)),
  };
}
