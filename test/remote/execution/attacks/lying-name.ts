/** In the form that defineEvent makes, with what it would refuse. */
export default { [Symbol.for('heddle.event')]: true, name: '../../etc/passwd', schema: null, run: () => null };
