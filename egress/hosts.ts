import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'

/** Addresses by name, in the file's order. Names as `canonical` gives them. */
export type Hosts = ReadonlyMap<string, readonly LookupAddress[]>

/** One spelling per name: names are the same in any capitals, and with the root's dot at the end. */
export const canonical = (host: string) => host.toLowerCase().replace(/\.$/, '')

/**
 * @param text a hosts file: an address and its names on each line, `#` before a comment. What is no address is passed over, and
 * one with a zone (`fe80::1%lo0`), which leads to an interface of this machine and to no receiver.
 */
export function parseHosts(text: string): Hosts {
  const hosts = new Map<string, LookupAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const family = isIP(address)
    if (family === 0 || address.includes('%')) continue
    for (const name of names.map(canonical)) {
      const known = hosts.get(name)
      if (known) known.push({ address, family })
      else hosts.set(name, [{ address, family }])
    }
  }
  return hosts
}

const LOOPBACK: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/**
 * Where a name is without any name server being asked: loopback, which localhost and all below it is (RFC 6761, 6.3), or
 * what the hosts file says, which is then all there is of it.
 */
export function ownAddresses(name: string, hosts: Hosts): readonly LookupAddress[] | undefined {
  return /^(.+\.)?localhost$/.test(name) ? LOOPBACK : hosts.get(name)
}
