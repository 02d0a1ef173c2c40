/** More events than an executor accepts from one module. */
export default Array.from({ length: 2_000 }, (_, index) => ({
  [Symbol.for('heddle.event')]: true,
  name: `event-${index}`,
  schema: null,
  run: () => null,
}));
