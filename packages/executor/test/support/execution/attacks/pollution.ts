import { defineEvent } from '@heddle/kit/event';

export default [
  defineEvent({
    name: 'pollution.builtins',
    run: () => {
      const lie = (): never => {
        throw new Error('polluted');
      };
      Object.assign(JSON, { stringify: () => '"polluted"', parse: lie });
      Object.assign(Buffer, { from: lie, concat: lie });
      Object.assign(Array.prototype, { push: lie, map: lie, flat: lie });
      Object.assign(Map.prototype, { get: lie });
      Object.assign(process, { exit: lie });
      Object.assign(Object.prototype, { code: 'TASK_OOM', details: ['polluted'], message: 'polluted' });
      return { fine: true };
    },
  }),
  defineEvent({
    name: 'pollution.failure',
    run: () => {
      Object.assign(Object.prototype, { code: 'CANCELED', details: 'polluted' });
      throw new Error('this is wrong');
    },
  }),
];
