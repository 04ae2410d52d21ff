import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'

/** In the file's order. Names are `canonical`. */
export type Hosts = ReadonlyMap<string, readonly LookupAddress[]>

export const canonical = (host: string) => host.toLowerCase().replace(/\.$/, '')

/** Skips invalid addresses and those with a zone (`fe80::1%lo0`), which names an interface of this machine. */
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

/** Loopback for localhost and all names below it (RFC 6761, 6.3), otherwise from the hosts file. */
export function localAddresses(name: string, hosts: Hosts): readonly LookupAddress[] | undefined {
  return /^(.+\.)?localhost$/.test(name) ? LOOPBACK : hosts.get(name)
}
