/** Keys whose value is named by another key beside them. */
const VALUE_KEY = /^(?:(?:parameter_?)?value|val|default|default_?value|content|text|string|secret_?string)$/i;

/** Keys that name what is beside them. */
const NAME_KEY = /^(?:name|key|id|variable|param|parameter|parameter_?key|property|field|label)$/i;

export function holdsValue(key: string | undefined): boolean {
  return key !== undefined && VALUE_KEY.test(key);
}

export function holdsName(key: string | undefined): boolean {
  return key !== undefined && NAME_KEY.test(key);
}
