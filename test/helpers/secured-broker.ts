import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../local/ports.ts'
import { type OwnBroker, startOwnBroker } from './broker.ts'
import { aCertificate, type Made } from './certificate.ts'

const HOST = '127.0.0.1'
export const USER = { username: 'sluice', password: 'pa$$w0rd' }

export type SecuredBroker = {
  /** host:port of the listener that asks for user and password, and of the one that asks for a certificate. */
  sasl: string
  mutual: string
  /** host:port of the open one. */
  open: string
  /** Its own certificate, and the one that the second listener accepts. */
  own: Made
  client: Made
  /** Paths of PEM files. `strange`: a root that has signed none of them. */
  files: { ca: string; cert: string; key: string; strange: string }
  logFile: string
  close(): Promise<void>
}

/** A broker with two TLS listeners, and an open one for itself. @param more further properties. */
export async function startSecuredBroker(more: Record<string, string> = {}): Promise<SecuredBroker> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  const right = { names: `IP:${HOST}`, days: [-1, 1] as [number, number], selfSigned: false }
  const [own, client, strange] = [
    await aCertificate(right),
    await aCertificate(right),
    await aCertificate(right),
  ]
  const ports: number[] = []
  for (let index = 0; index < 4; index++) ports.push(await freePort(HOST, ports))
  const [port = 0, controllerPort = 0, sasl = 0, mutual = 0] = ports
  const doors = `PLAINTEXT://${HOST}:${port},SASL_SSL://${HOST}:${sasl},SSL://${HOST}:${mutual}`
  const login = (mechanism: string, module: string, users = '') => ({
    [`listener.name.sasl_ssl.${mechanism}.sasl.jaas.config`]: `org.apache.kafka.common.security.${module} required${users};`,
  })
  const broker: OwnBroker = await startOwnBroker({
    port,
    controllerPort,
    scram: [`SCRAM-SHA-512=[name=${USER.username},password=${USER.password}]`],
    more: {
      listeners: `${doors},CONTROLLER://${HOST}:${controllerPort}`,
      'advertised.listeners': doors,
      'listener.security.protocol.map': ['PLAINTEXT', 'SASL_SSL', 'SSL']
        .map((name) => `${name}:${name}`)
        .join(',')
        .concat(',CONTROLLER:PLAINTEXT'),
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': await write('broker.pem', own.key + own.cert),
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': await write('clients.pem', client.root),
      'listener.name.ssl.ssl.client.auth': 'required',
      'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-512',
      ...login('plain', 'plain.PlainLoginModule', ` user_${USER.username}="${USER.password}"`),
      ...login('scram-sha-512', 'scram.ScramLoginModule'),
      ...more,
    },
  })
  return {
    sasl: `${HOST}:${sasl}`,
    mutual: `${HOST}:${mutual}`,
    open: `${HOST}:${port}`,
    own,
    client,
    files: {
      ca: await write('ca.pem', own.root),
      cert: await write('client.pem', client.cert),
      key: await write('client.key', client.key),
      strange: await write('strange.pem', strange.root),
    },
    logFile: broker.now.logFile,
    async close() {
      await broker.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
