/** In the form that defineEvent creates, with values it would reject. */
export default { [Symbol.for('heddle.event')]: true, name: '../../etc/passwd', schema: null, run: () => null };
