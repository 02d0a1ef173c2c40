import { defineKind } from '@heddle/kit';

/** Tells the secret of its input in every way that a kind has. */
export const telling = defineKind({
  name: 'Telling',
  run: (input, { log, output }) => {
    const [{ token }] = input['nested'] as [{ token: string }];
    if (input['fail'] === true) throw new Error(`${'x'.repeat(990)}${token}`);
    log.info({ token }, `it is ${token}`);
    output('stdout', `printed ${token}`);
    return { length: token.length, said: `<${token}>` };
  },
});
