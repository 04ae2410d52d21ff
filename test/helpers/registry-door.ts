import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'

export type RegistryDoor = { url: string; close(): void }

/** A proxy with HTTPS and basic auth before a registry that has neither. */
export async function openRegistryDoor(
  registryUrl: string,
  { key, cert, username, password }: { key: string; cert: string; username: string; password: string },
): Promise<RegistryDoor> {
  const { origin, pathname } = new URL(registryUrl)
  const right = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const server = createServer({ key, cert }, (asked, answer) => {
    if (asked.headers.authorization !== right) return void answer.writeHead(401).end()
    const { method, headers } = asked
    const forwarded = request(origin + asked.url, { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(answer)
    })
    forwarded.on('error', () => answer.destroy())
    asked.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const user = `${encodeURIComponent(username)}:${encodeURIComponent(password)}`
  return {
    url: `https://${user}@127.0.0.1:${port}${pathname}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
