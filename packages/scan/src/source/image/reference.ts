/** An image in a registry. */
export interface ImageReference {
  /** Scheme and host of its API. */
  origin: string;
  /** The registry as its credentials name it. */
  registry: string;
  repository: string;
  /** A tag or a digest. */
  version: string;
}

const HUB = 'docker.io';
const HUB_API = 'https://registry-1.docker.io';

/**
 * Parses `app`, `library/app:1.2`, `registry.example:5000/team/app@sha256:…`; `docker://` may precede it, and `http://`
 * for a registry without TLS. Returns null for anything else.
 */
export function parseReference(text: string): ImageReference | null {
  const [, scheme = '', rest = ''] = /^(?:(docker|https?):\/\/)?(.*)$/s.exec(text) ?? [];
  const [, named = '', tag, digest] =
    /^(.+?)(?::(\w[\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}))?$/.exec(rest) ?? [];
  const slash = named.indexOf('/');
  const first = slash < 0 ? '' : named.slice(0, slash);
  const isRegistry = /[.:]/.test(first) || first === 'localhost';
  const registry = isRegistry ? first : HUB;
  const path = isRegistry ? named.slice(slash + 1) : named;
  if (!/^[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$/.test(path) || path.length > 255)
    return null;
  if (isRegistry && !URL.canParse(`https://${registry}/`)) return null;
  const isHub = registry === HUB || registry === 'index.docker.io';
  const protocol = scheme === 'http' || (scheme !== 'https' && isLoopback(registry)) ? 'http' : 'https';
  return {
    origin: isHub ? HUB_API : `${protocol}://${registry}`,
    registry: isHub ? HUB : registry,
    repository: isHub && !path.includes('/') ? `library/${path}` : path,
    version: digest ?? tag ?? 'latest',
  };
}

/** As for other programs: a registry on this machine rarely has a certificate. */
function isLoopback(registry: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/.test(registry);
}

/** Local images are named by a path that begins like one. */
export function isLocalImage(image: string): boolean {
  return /^\.{0,2}\//.test(image);
}
