/** What is added to the name of a file that is a template or a copy of another. */
const ADDED =
  /\.(?:example|sample|dist|template|tmpl|tpl|j2|erb|bak|backup|old|orig|save|local|default|disabled|swp|enc)$|~$/;

/** Returns the extension that says what a file contains, in lower case: `yaml` for `values.yaml.j2`, `env` for `.env`. */
export function extensionOf(path: string): string {
  let name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('!')) + 1).toLowerCase();
  for (let shorter = name.replace(ADDED, ''); shorter !== name; shorter = name.replace(ADDED, '')) name = shorter;
  // Also `.env.production`.
  if (name.startsWith('.env')) return 'env';
  return name.slice(name.lastIndexOf('.') + 1);
}
