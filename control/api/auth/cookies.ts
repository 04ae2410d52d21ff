/** Some proxies send `X-Forwarded-Proto: HTTPS`. */
export const isHttps = (protocol: string): boolean => protocol.toLowerCase() === 'https'

/** `__Host-` ties the cookie to this host, not its domain (RFC 6265bis, 4.1.3.2). Needs https. */
const fullName = (name: string, protocol: string) => (isHttps(protocol) ? `__Host-${name}` : name)

/** Reads and writes one cookie. It has different names over https and http. */
export type Cookie = {
  /** All values of this name, in the order of the header. */
  all(header: string | undefined, protocol: string): Iterable<string>
  /** The first value decides. */
  first(header: string | undefined, protocol: string): string | undefined
  /** Scripts cannot read it. `''` deletes it. @returns the value of `Set-Cookie` */
  set(value: string, by: { protocol: string; maxAgeS: number }): string
}

/**
 * Other cookies are not decoded: each broken escape would raise an exception, and 16 KB of them took 10 ms. Only spaces
 * and tabs may surround the name, as browsers let other hosts set `\xa0__Host-…`.
 * @param sameSite `Strict`: other sites cannot make a browser send it. `Lax`: except by a link or redirect to this site.
 */
export function createCookie(name: string, sameSite: 'Strict' | 'Lax'): Cookie {
  const patternOf = (protocol: string) =>
    new RegExp(`(?:^|;)[ \\t]*${fullName(name, protocol)}[ \\t]*=([^;]*)`, 'g')
  const [http, https] = [patternOf('http'), patternOf('https')]
  const all = (header = '', protocol: string) =>
    header.matchAll(isHttps(protocol) ? https : http).map(([, value = '']) => value.trim())
  return {
    all,
    first: (header, protocol) => all(header, protocol).next().value,
    set(value, { protocol, maxAgeS }) {
      const secure = isHttps(protocol) ? '; Secure' : ''
      return `${fullName(name, protocol)}=${value}; Max-Age=${maxAgeS}; Path=/; HttpOnly${secure}; SameSite=${sameSite}`
    },
  }
}

export const SESSION_COOKIE: Cookie = createCookie('sluice_session', 'Strict')
